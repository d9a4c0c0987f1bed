import { waitedFor } from '../approvals/approve.ts'
import { PlatformError } from '../model/errors.ts'
import type { Output } from '../model/tool.ts'
import type { Asked } from './call.ts'
import type { Host } from './host.ts'
import { CallRecord } from './record.ts'
import { resolve } from './resolve.ts'

/**
 * Ends the record of a call that was begun, and whose outcome came by another way than through the door: from the caller,
 * who ran it, or from a journal that had it before a crash. Nothing is run.
 */
export async function conclude(asked: Asked, outcome: Output | PlatformError, host: Host): Promise<void> {
  const record = new CallRecord(host.calls, asked)
  // The tool may be gone by now; then what it would have kept secret is not known, and nothing of it was sent.
  const resolved = await find(asked, host).catch(() => undefined)
  if (resolved) record.resolved(resolved)
  const approval = await host.desk.approvals.findByCall(asked.id)
  if (approval?.status === 'used') record.waited(waitedFor(approval))
  const ended = outcome instanceof PlatformError ? await record.fail(outcome) : await record.succeed(outcome)
  host.onEnd?.(ended)
}

const find = async (asked: Asked, { catalogue }: Host) => resolve(asked, catalogue)
