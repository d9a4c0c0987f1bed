import type { Catalogue } from '../catalogue/catalogue.ts'
import { PlatformError } from '../model/errors.ts'
import { Suspended } from '../model/suspended.ts'
import type { Output } from '../model/tool.ts'
import type { Calls } from '../store/calls.ts'
import type { Reach } from '../tools/tool-type.ts'
import { approve } from './approve.ts'
import { authorize } from './authorize.ts'
import type { Asked } from './call.ts'
import { execute, notRunnable } from './execute.ts'
import { preset } from './preset.ts'
import { CallRecord, type Ended } from './record.ts'
import { resolve } from './resolve.ts'
import { validate } from './validate.ts'

/** What the door needs of the rest. */
export interface Host {
  readonly catalogue: Catalogue
  readonly calls: Calls
  readonly reach: Reach
  /** Told how each call ended, for the metrics. */
  onEnd?(call: Ended): void
}

/** Tools that call tools must end somewhere. */
export const deepest = 10

/** Every tool call, from anyone, goes through here, in this order. */
export async function dispatch(asked: Asked, host: Host): Promise<Output> {
  const record = new CallRecord(host.calls, asked)
  try {
    if (asked.depth > deepest) throw new PlatformError('CALL_TOO_DEEP', { depth: asked.depth })
    const resolved = await resolve(asked, host.catalogue)
    record.resolved(resolved)
    const approved = approve(validate(preset(authorize(resolved))))
    if (!approved.entry.type.execute && asked.patience !== 'comes back') throw notRunnable(approved)
    await record.begin(approved)
    if (!approved.entry.type.execute) throw new Suspended({ kind: 'client', input: approved.merged })
    const output = await execute(approved, host.reach)
    await asked.onOutput?.(output)
    host.onEnd?.(await record.succeed(output))
    return output
  } catch (error) {
    // Not over: whoever called comes back for it, under the same id.
    if (error instanceof Suspended) throw error
    host.onEnd?.(await record.fail(error))
    throw error
  }
}
