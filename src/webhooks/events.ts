import type { JsonObject } from '../lib/json.ts'
import type { Approval } from '../model/approval.ts'
import type { Connection } from '../model/connection.ts'
import type { GenerationResult } from '../model/generation.ts'
import type { OauthGrant } from '../model/oauth-grant.ts'
import type { SessionEvent } from '../model/session.ts'
import type { WebhookEvent } from '../model/webhook.ts'
import type { Run } from '../store/generations.ts'
import type { Webhooks } from './webhooks.ts'

type Publisher = Pick<Webhooks, 'publish'>

/**
 * Publishes the state of a run that has paused or ended: once for each set of calls and approvals that it waits for.
 */
export async function publishRun(run: Run, result: GenerationResult, webhooks: Publisher): Promise<void> {
  if (run.status === 'in_progress' || run.status === 'cancelled') return
  const { tool_calls = [], approvals = [], connections = [] } = result.required_action ?? {}
  const waiting = [
    ...tool_calls.map((call) => call.tool_call_id),
    ...approvals.map((one) => one.approval_id),
    ...connections.map((one) => one.tool_call_id),
  ]
  const key = `${run.id}/${run.status}/${run.steps}/${waiting.join()}`
  await webhooks.publish(run.project_id, `generation.${run.status}`, withoutLinks(result) as unknown as JsonObject, {
    key,
  })
}

/** Deliveries are stored, and anyone who has a link can use it. Receivers get the generation to find it. */
const withoutLinks = (result: GenerationResult): GenerationResult => {
  const { required_action: required } = result
  if (!required?.connections) return result
  const connections = required.connections.map((one) => ({ ...one, connect_url: null }))
  return { ...result, required_action: { ...required, connections } }
}

/** Notifies reviewers. Secrets in the approval have already been redacted. */
export const publishApproval = (approval: Approval, webhooks: Publisher): Promise<void> =>
  webhooks.publish(approval.project_id, 'approval.requested', approval as unknown as JsonObject, { key: approval.id })

/** Connections contain no credentials. The key makes sure that each change is published once. */
export const publishConnection = (
  event: Extract<WebhookEvent, `connection.${string}`>,
  connection: Connection,
  key: string,
  webhooks: Publisher,
): Promise<void> => webhooks.publish(connection.project_id, event, connection as unknown as JsonObject, { key })

/** Why the access of an app has ended. A reused token may have been stolen. */
export type GrantEnd = 'token_reused' | 'revoked_by_app' | 'revoked'

/** Grants that belong to no project have no webhooks. */
export async function publishGrantEnd(grant: OauthGrant, reason: GrantEnd, webhooks: Publisher): Promise<void> {
  if (grant.project_id === null) return
  const body = { ...grant, reason } as unknown as JsonObject
  await webhooks.publish(grant.project_id, 'oauth_grant.revoked', body, { key: grant.id })
}

/** Publishes the events of a turn, in order. Those that were published before are not sent again. */
export async function publishSession(
  { project_id, agent_id, end_user_id }: { project_id: string; agent_id: string; end_user_id: string | null },
  events: readonly SessionEvent[],
  webhooks: Publisher,
): Promise<void> {
  for (const event of events) {
    const body = { ...event, agent_id, end_user_id } as unknown as JsonObject
    await webhooks.publish(project_id, 'session.event', body, { key: event.id })
  }
}
