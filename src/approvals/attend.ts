import type { Valid } from '../dispatch/call.ts'
import type { Approval } from '../model/approval.ts'
import type { Desk } from './desk.ts'

/** How often someone who waits is told that there is still nothing. */
const everyMs = 3000

/**
 * Looks after a caller while its call waits: tells it what for, as progress, and shows it the link to the approval where
 * it said that it can be shown one. Until it is disposed of.
 */
export function attend({ live, home }: Valid, approval: Approval, desk: Desk): Disposable {
  const over = new AbortController()
  const { id, expires_at } = approval
  const link = desk.linkTo(approval, home)
  let count = 0
  const tell = () => {
    // What the tool itself tells later begins at zero or above, and progress must never go back.
    const message = `Waiting for approval ${id} until ${expires_at}${link ? `: ${link}` : ''}`
    live?.onProgress?.({ progress: ++count / 1e6, message })
  }
  tell()
  const timer = live?.onProgress && setInterval(tell, everyMs)
  if (link && live?.asking?.abilities.elicitation?.url && !live.asking.round) {
    const message = `"${approval.action}" needs approval. Open the link to see it, or pass it on to someone who can decide.`
    const params = { mode: 'url', message, url: link, elicitationId: id }
    // Whatever the answer is, it is no decision.
    live.asking.ask({ method: 'elicitation/create', params }, over.signal).catch(() => {})
  }
  return {
    [Symbol.dispose]() {
      clearInterval(timer)
      over.abort()
    },
  }
}
