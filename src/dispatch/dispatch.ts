import { PlatformError } from '../model/errors.ts'
import { Suspended } from '../model/suspended.ts'
import type { Output } from '../model/tool.ts'
import { approve } from './approve.ts'
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
export async function dispatch(asked: Asked, host: Host): Promise<Output> {
  const record = new CallRecord(host.calls, asked)
  try {
    if (asked.depth > deepest) throw new PlatformError('CALL_TOO_DEEP', { depth: asked.depth })
    // What is known and what nobody has to decide on does not wait, not even for the next round of the event loop.
    const resolution = resolve(asked, host.catalogue, record)
    const resolved = resolution instanceof Promise ? await resolution : resolution
    record.resolved(resolved)
    const validation = validate(preset(authorize(resolved)))
    const valid = validation instanceof Promise ? await validation : validation
    if (!valid.entry.type.execute && asked.patience !== 'comes back') throw notRunnable(valid)
    const decision = approve(valid, record, host)
    const approved = decision instanceof Promise ? await decision : decision
    record.waited(approved.waitedMs)
    await record.begin(approved)
    if (!approved.entry.type.execute) throw new Suspended({ kind: 'client', input: approved.merged })
    const output = await execute(approved, host.reach)
    await asked.onOutput?.(output)
    // Apart, because what an absent listener would be told is not worked out.
    const ended = await record.succeed(output)
    host.onEnd?.(ended)
    return output
  } catch (error) {
    // Not over: whoever called comes back for it, under the same id.
    if (error instanceof Suspended) throw error.told ?? error
    const ended = await record.fail(error)
    host.onEnd?.(ended)
    throw error
  }
}
