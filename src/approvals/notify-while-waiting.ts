import type { ValidCall } from '../dispatch/call.ts'
import type { Approval } from '../model/approval.ts'
import type { ApprovalCoordinator } from './coordinator.ts'

/** The interval of progress notifications to a waiting caller. */
const everyMs = 3000

/**
 * Notifies a caller while its call waits for approval, until disposed. Sends progress with the id and the link of the
 * approval, and a URL elicitation if the client supports it.
 */
export function notifyWhileWaiting(
  { live, home }: ValidCall,
  approval: Approval,
  coordinator: ApprovalCoordinator,
): Disposable {
  const over = new AbortController()
  const { id, expires_at } = approval
  const link = coordinator.linkTo(approval, home)
  let count = 0
  const notify = () => {
    // Tiny steps: the tool's own progress may start near zero later, and progress must never decrease.
    const message = `Waiting for approval ${id} until ${expires_at}${link ? `: ${link}` : ''}`
    live?.onProgress?.({ progress: ++count / 1e6, message })
  }
  notify()
  const timer = live?.onProgress && setInterval(notify, everyMs)
  if (link && live?.requester?.abilities.elicitation?.url && !live.requester.round) {
    const message = `"${approval.action}" needs approval. Open the link to review it, or forward it to someone who can decide.`
    const params = { mode: 'url', message, url: link, elicitationId: id }
    // The answer does not count as a decision.
    live.requester.request({ method: 'elicitation/create', params }, over.signal).catch(() => {})
  }
  return {
    [Symbol.dispose]() {
      clearInterval(timer)
      over.abort()
    },
  }
}
