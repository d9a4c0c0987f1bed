import type { Live, OnWait } from '../../model/call.ts'
import type { Wait } from '../../model/outcome.ts'
import type { ToolResult } from './results.ts'

const prefix = 'qm-approval-'

interface Linker {
  linkToApproval(approvalId: string): string | undefined
}

/**
 * How a caller waits for an approval. A 2026 client that can open links gets a link as the result. Its next request,
 * which repeats the call, waits; nothing is stored in between. All other callers wait immediately.
 */
export function waiting(live: Live, linker: Linker): { live: Live; onWait: OnWait } {
  const { requester } = live
  if (!requester?.round) return { live, onWait: 'block' }
  // The request state is ours. The upstream server has not asked anything yet.
  if (requester.round.requestState?.startsWith(prefix)) {
    return { live: { ...live, requester: { ...requester, round: {} } }, onWait: 'block' }
  }
  const showsLinks = requester.abilities.elicitation?.url !== undefined && linker.linkToApproval('') !== undefined
  return { live, onWait: showsLinks ? 'return' : 'block' }
}

/** The result with the link. */
export function linkResult(wait: Wait, linker: Linker): ToolResult {
  const { id, expiresAt } = wait as Extract<Wait, { kind: 'approval' }>
  const until = new Date(expiresAt).toISOString()
  const message = `This call needs approval ${id}, until ${until}. Open the link to review it, or forward it to someone who can decide. The call waits until then.`
  const params = { mode: 'url', message, url: linker.linkToApproval(id) as string }
  return {
    resultType: 'input_required',
    inputRequests: { approval: { method: 'elicitation/create', params } },
    requestState: prefix + id,
    // Required by the result type.
    content: [],
  }
}
