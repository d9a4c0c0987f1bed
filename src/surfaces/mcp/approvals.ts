import type { Live, OnWait } from '../../model/call.ts'
import type { Wait } from '../../model/outcome.ts'
import type { ToolResult } from './results.ts'

const prefix = 'qm-approval-'

type LinkTo = (approvalId: string) => string | undefined

/**
 * How a caller waits for a person's decision. One of 2026 that can be shown a link is answered with it, and its next
 * request, which is the same call, waits; nothing is kept here in between. Everyone else waits at once.
 */
export function waiting(live: Live, linkTo: LinkTo): { live: Live; onWait: OnWait } {
  const { asking } = live
  if (!asking?.round) return { live, onWait: 'block' }
  // The state is ours, and the one who is called has not asked anything yet.
  if (asking.round.requestState?.startsWith(prefix)) {
    return { live: { ...live, asking: { ...asking, round: {} } }, onWait: 'block' }
  }
  const showsLinks = asking.abilities.elicitation?.url !== undefined && linkTo('') !== undefined
  return { live, onWait: showsLinks ? 'return' : 'block' }
}

/** What such a caller is answered. */
export function linkResult(wait: Wait, linkTo: LinkTo): ToolResult {
  const { id, expiresAt } = wait as Extract<Wait, { kind: 'approval' }>
  const until = new Date(expiresAt).toISOString()
  const message = `This call needs approval ${id}, until ${until}. Open the link to see it, or pass it on to someone who can decide; the call waits for them.`
  const params = { mode: 'url', message, url: linkTo(id) as string }
  return {
    resultType: 'input_required',
    inputRequests: { approval: { method: 'elicitation/create', params } },
    requestState: prefix + id,
    // Only here because every result of ours has it.
    content: [],
  }
}
