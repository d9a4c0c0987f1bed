import { z } from 'zod'
import { Timestamp } from './page.ts'

/** Permission for one OAuth client to use one MCP server in the name of the person or key that gave it. */
export const OauthGrant = z.object({
  id: z.string(),
  project_id: z
    .string()
    .nullable()
    .describe('Null for the management endpoint of a key that is not bound to a project'),
  server_id: z.string().nullable().describe('Null for the management endpoint, /mcp'),
  resource: z.string().describe('The URL that its tokens are valid for'),
  scopes: z.array(z.string()),
  granted_by: z.object({ id: z.string(), name: z.string() }),
  client: z.object({
    name: z.string().describe('The name that the client gave itself'),
    host: z.string().nullable().describe('The host that published the client; null if anyone could have registered it'),
    redirect_host: z.string().describe('Where the authorization code was sent'),
  }),
  last_used_at: Timestamp.nullable(),
  expires_at: Timestamp.describe('Extended each time the client refreshes its token'),
  created_at: Timestamp,
})
export type OauthGrant = z.infer<typeof OauthGrant>
