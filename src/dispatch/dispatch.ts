import { approve } from '../approvals/approve.ts'
import { DatabaseUnavailable } from '../model/database-unavailable.ts'
import { PlatformError } from '../model/errors.ts'
import { modeNamesOf } from '../model/mode.ts'
import { type Outcome, Waiting } from '../model/outcome.ts'
import { authorize } from './authorize.ts'
import type { CallRequest } from './call.ts'
import { authorizationFor, connectionWait, withLink } from './connect.ts'
import type { DispatchDeps } from './deps.ts'
import { execute, notRunnable } from './execute.ts'
import { findModes, type NamedMode } from './mode.ts'
import { preset } from './preset.ts'
import { CallRecord } from './record.ts'
import { resolve } from './resolve.ts'
import { validate } from './validate.ts'

const noModes: readonly NamedMode[] = []

/** Limits how deeply tools can call other tools. */
export const maxDepth = 10

/** Runs a tool call. Every call goes through these steps, in this order. */
export async function dispatch(request: CallRequest, deps: DispatchDeps): Promise<Outcome> {
  const record = new CallRecord(deps.calls, request)
  // True once a tool has started that may change something: from then on, an error does not mean that nothing happened.
  let mayHaveEffect = false
  const toRefusal = (error: unknown) => whereDatabaseFailed(error, mayHaveEffect, record)
  try {
    if (request.depth > maxDepth) throw new PlatformError('CALL_TOO_DEEP', { depth: request.depth })
    // Avoids `await` where a value is already available: a cached tool that needs no approval runs in the same turn.
    const { toolId, builtIn } = request
    const entry = builtIn ?? deps.catalogue.peek(toolId) ?? (await deps.catalogue.find(toolId))
    const resolved = resolve(request, entry, record)
    record.resolved(resolved)
    const names = modeNamesOf(request.principal)
    const modes =
      names.length === 0 || builtIn ? noModes : await findModes(names, resolved.entry.tool.project_id, deps.modes)
    const validation = validate(preset(authorize(resolved, modes)))
    const valid = validation instanceof Promise ? await validation : validation
    if (valid.entry.filled.fault) throw valid.entry.filled.fault
    if (!valid.entry.type.execute && request.onWait !== 'resume') throw notRunnable(valid)
    // Checked first, so that nobody approves a call that cannot be made.
    const needed = authorizationFor(valid, deps)
    if (needed instanceof Promise) await needed
    const deciding = approve(valid, record, deps)
    const decision = deciding instanceof Promise ? await deciding : deciding
    // The call is not over. Its record stays open for a repeat of the call.
    if (decision.kind === 'open') {
      const { outcome } = decision
      return outcome.kind === 'refused' ? { kind: 'refused', error: toRefusal(outcome.error) } : outcome
    }
    const approved = decision.call
    record.waited(approved.waitedMs)
    if (approved.entry.filled.fault) throw approved.entry.filled.fault
    const authorizing = authorizationFor(approved, deps)
    const authorization = authorizing instanceof Promise ? await authorizing : authorizing
    const beginning = record.beginEffect(approved)
    if (beginning) await beginning
    if (!approved.entry.type.execute) return new Waiting({ kind: 'client', input: approved.merged })
    mayHaveEffect = approved.prepared.action.readOnly !== true
    const output = await execute(approved, authorization, deps.tools)
    if (output instanceof Waiting) {
      await record.suspend()
      return output
    }
    await request.onOutput?.(output)
    // Not inlined: without a listener, the arguments of `onEnd?.()` would not be evaluated.
    const ended = await record.succeed(output)
    deps.onEnd?.(ended)
    return { kind: 'done', output }
  } catch (error) {
    const refusal = await withLink(toRefusal(error), request, deps)
    // A caller that can resume the call waits until the account is connected. Nothing was done so far.
    const wait = request.onWait === 'resume' ? await connectionWait(refusal, request, deps) : undefined
    if (wait) return new Waiting(wait)
    try {
      const ended = await record.fail(refusal)
      deps.onEnd?.(ended)
    } catch (failure) {
      return { kind: 'refused', error: toRefusal(failure) }
    }
    return { kind: 'refused', error: refusal }
  }
}

/** If the database fails before the tool has run, the call can be retried. Afterwards, its outcome is unknown. */
function whereDatabaseFailed(error: unknown, mayHaveEffect: boolean, record: CallRecord): unknown {
  if (!(error instanceof DatabaseUnavailable)) return error
  if (!mayHaveEffect) return error.toError(true)
  return new PlatformError('OUTCOME_UNKNOWN', { action: record.action }, { cause: error })
}
