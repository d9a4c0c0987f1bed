import { waitTimeOf } from '../approvals/approve.ts'
import { PlatformError } from '../model/errors.ts'
import type { Output } from '../model/tool.ts'
import type { CallRequest } from './call.ts'
import type { DispatchDeps } from './deps.ts'
import { CallRecord } from './record.ts'
import { resolve } from './resolve.ts'

/**
 * Completes the record of a call that was begun and whose outcome did not come from dispatch: the caller ran it, or a
 * journal has the outcome from before a crash. Does not run anything.
 */
export async function conclude(
  request: CallRequest,
  outcome: Output | PlatformError,
  deps: DispatchDeps,
): Promise<void> {
  const record = new CallRecord(deps.calls, request)
  // The tool may have been deleted. Its secrets are unknown then, but the platform sent none of them.
  const resolved = await find(request, deps).catch(() => undefined)
  if (resolved) record.resolved(resolved)
  const approval = await deps.coordinator.store.findByCall(request.id)
  if (approval?.status === 'used') record.waited(waitTimeOf(approval))
  const ended = outcome instanceof PlatformError ? await record.fail(outcome) : await record.succeed(outcome)
  deps.onEnd?.(ended)
}

const find = async (request: CallRequest, { catalogue }: DispatchDeps) =>
  resolve(request, await catalogue.find(request.toolId))
