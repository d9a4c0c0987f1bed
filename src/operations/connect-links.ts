import { z } from 'zod'
import { EndUserId, needsNoBrowser, target } from '../model/connection.ts'
import { PlatformError } from '../model/errors.ts'
import { Id, Text, Timestamp } from '../model/page.ts'
import { ownerKey } from '../store/connections.ts'
import { actingAs, isBackend, requireOwner } from './act-as.ts'
import { invalid, targetIn } from './connection-input.ts'
import { creates, operation, requireAllowed } from './operation.ts'

export const ConnectLink = z.object({
  connect_url: z.string().describe('The page on which the user connects the account. It works once'),
  expires_at: Timestamp,
})

export const createConnectLink = creates({
  name: 'create-connect-link',
  permission: 'connections:CreateConnectLink',
  route: 'POST /connections/link',
  summary: 'Create a link to a page on which an end user connects an account, or connects it again',
  example: { app: 'crm', end_user_id: 'user-42' },
  secretFields: ['connect_url'],
  kind: 'connection',
  input: z.strictObject({
    project_id: Id.optional(),
    ...target,
    end_user_id: EndUserId.optional().describe(
      'The user who connects; by default, the user of the key, or the project',
    ),
    return_url: Text.max(2000)
      .optional()
      .describe('Where to go afterwards; its origin must be in return_origins of the project'),
  }),
  output: ConnectLink,
  async run(input, context) {
    const { connections, principal, projectId, store } = context
    const { endUserId } = actingAs(context, input.end_user_id, projectId)
    const owner = { kind: endUserId === null ? ('project' as const) : ('user' as const), id: endUserId }
    requireOwner(context, owner, projectId)
    const subject = { project_id: projectId, target: await targetIn(input, context), owner: ownerKey(owner) }
    if (input.return_url !== undefined) {
      const origin = URL.parse(input.return_url)?.origin ?? 'null'
      const project = await store.projects.find(projectId)
      if (!project?.return_origins.includes(origin)) throw new PlatformError('RETURN_URL_NOT_ALLOWED', { origin })
    }
    const plan = await connections.flows.plan(subject)
    if (needsNoBrowser(plan.type)) {
      const message = `is connected with ${plan.type}, without a page: use POST /connections`
      throw invalid(input.tool_id === undefined ? 'app' : 'tool_id', message)
    }
    return connections.flows.createLink({
      ...subject,
      principalId: principal.id,
      mintedBy: isBackend(context) ? 'backend' : 'platform',
      toolId: input.tool_id ?? null,
      reason: plan.existing ? 'expired' : 'missing',
      challenge: null,
      returnUrl: input.return_url ?? null,
    })
  },
})

export const confirmConnectFlow = operation({
  name: 'confirm-connect-flow',
  permission: 'connections:ActAs',
  route: 'POST /connections/flows/{flow_id}/confirm',
  summary: 'Confirm which user has opened a connect link, for the verifier_url of a project',
  example: { end_user_id: 'user-42' },
  byPeople: true,
  input: z.strictObject({ id: Id, end_user_id: EndUserId }),
  output: ConnectLink,
  async run({ id, end_user_id }, { connections, principal }) {
    const { projectId } = principal
    requireAllowed(principal, 'connections:ActAs', { projectId, kind: 'end-user', id: end_user_id })
    return connections.flows.confirm(id, end_user_id, projectId)
  },
})
