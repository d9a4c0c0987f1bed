import { z } from 'zod'
import { evaluate, mayEver } from '../access/evaluate.ts'
import { PlatformError } from '../model/errors.ts'
import { OauthGrant } from '../model/oauth-grant.ts'
import { Id, Paging, pageOf } from '../model/page.ts'
import { publishGrantEnd } from '../webhooks/events.ts'
import { type Context, operation, requireAllowed } from './operation.ts'

const listing = 'oauth-grants:ListOauthGrants'
const resourceOf = ({ id, project_id }: { id: string; project_id?: string | null }) => ({
  projectId: project_id ?? null,
  kind: 'oauth-grant',
  id,
})

/** Whose own grants these are: always visible, and always revocable. */
const ownerOf = ({ principal }: Context): string => principal.actsFor ?? principal.id

export const listOauthGrants = operation({
  name: 'list-oauth-grants',
  permission: listing,
  route: 'GET /oauth-grants',
  summary: 'List the apps that may use MCP servers in somebody’s name; everyone sees their own',
  input: z.strictObject({
    project_id: Id.optional(),
    granted_by: Id.optional().describe('Only those that this user or API key gave'),
    ...Paging,
  }),
  output: pageOf(OauthGrant),
  async run(input, context) {
    const { store, principal } = context
    const asked = { ...input, ...(principal.projectId && { project_id: principal.projectId }) }
    const own = { ...asked, granted_by: ownerOf(context) }
    if (!mayEver(principal, listing)) return store.oauthGrants.list(own, undefined)
    const { data } = await store.oauthGrants.list({ ...own, limit: 1000, offset: 0 }, undefined)
    const ownIds = new Set(data.map(({ id }) => id))
    const isVisible = (grant: { id: string; project_id?: string | null }) =>
      ownIds.has(grant.id) || evaluate(principal, listing, resourceOf(grant)).allowed
    return store.oauthGrants.list(asked, isVisible)
  },
})

export const revokeOauthGrant = operation({
  name: 'revoke-oauth-grant',
  permission: 'oauth-grants:RevokeOauthGrant',
  route: 'DELETE /oauth-grants/{oauth_grant_id}',
  summary: 'Revoke the access of an app: its tokens stop working at once; everyone can revoke their own',
  status: 204,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, context) {
    const { store, principal } = context
    const grant = await store.oauthGrants.find(id)
    const isOwn = grant?.granted_by.id === ownerOf(context)
    const isVisible = grant && (isOwn || evaluate(principal, listing, resourceOf(grant)).allowed)
    if (!isVisible) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'oauth-grant', id })
    if (!isOwn) requireAllowed(principal, 'oauth-grants:RevokeOauthGrant', resourceOf(grant))
    await store.oauthGrants.remove(id)
    await publishGrantEnd(grant, 'revoked', context.webhooks)
    return null
  },
})
