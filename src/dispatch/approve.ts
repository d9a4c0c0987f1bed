import { PlatformError } from '../model/errors.ts'
import type { Approved, Valid } from './call.ts'

/** Whether it may happen now. Nobody can be asked yet, so what needs a decision is refused. */
export function approve(call: Valid): Approved {
  if (!call.offer.action.autoApprove) throw new PlatformError('APPROVAL_REQUIRED', { action: call.offer.action.id })
  return { ...call, approval: 'not needed' }
}
