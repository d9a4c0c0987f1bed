import { approve } from '../approvals/approve.ts'
import { DatabaseUnavailable } from '../model/database-unavailable.ts'
import { PlatformError } from '../model/errors.ts'
import { type Outcome, Waiting } from '../model/outcome.ts'
import { authorize } from './authorize.ts'
import type { Asked } from './call.ts'
import { execute, notRunnable } from './execute.ts'
import type { Host } from './host.ts'
import { preset } from './preset.ts'
import { CallRecord } from './record.ts'
import { resolve } from './resolve.ts'
import { validate } from './validate.ts'

/** Tools that call tools must end somewhere. */
export const deepest = 10

/** Every tool call, from anyone, goes through here, in this order. */
export async function dispatch(asked: Asked, host: Host): Promise<Outcome> {
  const record = new CallRecord(host.calls, asked)
  // From here on it cannot be said that nothing was done.
  let mayHaveEffect = false
  const judged = (error: unknown) => whereDatabaseFailed(error, mayHaveEffect, record)
  try {
    if (asked.depth > deepest) throw new PlatformError('CALL_TOO_DEEP', { depth: asked.depth })
    // What is known and what nobody has to decide on does not wait, not even for the next round of the event loop.
    const resolution = resolve(asked, host.catalogue, record)
    const resolved = resolution instanceof Promise ? await resolution : resolution
    record.resolved(resolved)
    const validation = validate(preset(authorize(resolved)))
    const valid = validation instanceof Promise ? await validation : validation
    if (!valid.entry.type.execute && asked.onWait !== 'resume') throw notRunnable(valid)
    const deciding = approve(valid, record, host)
    const decision = deciding instanceof Promise ? await deciding : deciding
    // Not over: its record stays open for whoever makes the call again.
    if (decision.kind === 'open') {
      const { outcome } = decision
      return outcome.kind === 'refused' ? { kind: 'refused', error: judged(outcome.error) } : outcome
    }
    const approved = decision.call
    record.waited(approved.waitedMs)
    await record.begin(approved)
    if (!approved.entry.type.execute) return new Waiting({ kind: 'client', input: approved.merged })
    mayHaveEffect = true
    const output = await execute(approved, host.reach)
    if (output instanceof Waiting) return output
    await asked.onOutput?.(output)
    // Apart, because what an absent listener would be told is not worked out.
    const ended = await record.succeed(output)
    host.onEnd?.(ended)
    return { kind: 'done', output }
  } catch (error) {
    const told = judged(error)
    try {
      const ended = await record.fail(told)
      host.onEnd?.(ended)
    } catch (failure) {
      return { kind: 'refused', error: judged(failure) }
    }
    return { kind: 'refused', error: told }
  }
}

/** Before its effect, a call that the database failed can be made again. After it, nobody knows. */
function whereDatabaseFailed(error: unknown, mayHaveEffect: boolean, record: CallRecord): unknown {
  if (!(error instanceof DatabaseUnavailable)) return error
  if (!mayHaveEffect) return error.toError(true)
  return new PlatformError('OUTCOME_UNKNOWN', { action: record.action }, { cause: error })
}
