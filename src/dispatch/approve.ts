import { PlatformError } from '../model/errors.ts'
import type { Approved, Valid } from './call.ts'

/** Whether it may happen now. Nobody can be asked yet, so what needs a decision is refused. */
export function approve(call: Valid): Approved {
  const { action, withheld } = call.offer
  if (withheld) throw new PlatformError('ACTION_WITHHELD', { action: action.id, tool_id: call.entry.tool.id })
  if (!action.autoApprove) throw new PlatformError('APPROVAL_REQUIRED', { action: action.id })
  return { ...call, approval: 'not needed' }
}
