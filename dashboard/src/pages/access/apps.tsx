import { ask, type OauthGrant, qm } from '../../api.ts'
import { ago, when } from '../../format.ts'
import { useAll } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Row } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import type { Column } from '../../ui/table.tsx'
import { useAction } from '../../use-action.ts'

/** Apps that people have connected with OAuth. */
export function Apps() {
  const grants = useAll('oauth-grants', (query) => qm.oauthGrants.listOauthGrants({ query }))
  return (
    <Listing
      query={grants}
      label="Connected apps"
      columns={useColumns()}
      empty={
        <Empty title="No connected apps">
          Add the URL of an MCP server to an editor or assistant, without a key. It opens a page where you sign in and
          allow it, and then appears here.
        </Empty>
      }
    />
  )
}

const lastUse = (time: string | null): string => (time ? ago(time) : 'never used')
const pathOf = (resource: string): string => URL.parse(resource)?.pathname ?? resource

function useColumns(): Column<OauthGrant>[] {
  const revoke = useAction((id: string) => ask(qm.oauthGrants.revokeOauthGrant({ path: { oauth_grant_id: id } })), {
    changes: ['oauth-grants'],
  })
  return [
    {
      name: 'App',
      cell: ({ client, resource, granted_by, last_used_at }) => (
        <>
          <span className="font-medium break-words">{client.name}</span>
          <div className="text-xs break-words text-soft">
            {client.host ?? 'self-registered'} · returns to {client.redirect_host}
          </div>
          <div className="mt-0.5 text-xs break-words text-soft md:hidden">
            {pathOf(resource)} · {granted_by.name} · {lastUse(last_used_at)}
          </div>
        </>
      ),
    },
    {
      name: 'Server',
      wideOnly: true,
      cell: ({ resource, scopes }) => (
        <Row>
          <span className="font-mono text-sm">{pathOf(resource)}</span>
          {scopes.includes('mcp') || <Badge>read only</Badge>}
        </Row>
      ),
    },
    { name: 'In the name of', wideOnly: true, cell: ({ granted_by }) => granted_by.name },
    {
      name: 'Last used',
      wideOnly: true,
      cell: ({ last_used_at, expires_at }) => (
        <span className="text-soft" title={`Expires ${when(expires_at)} if it is not used`}>
          {lastUse(last_used_at)}
        </span>
      ),
    },
    {
      name: 'Action',
      end: true,
      cell: ({ id, client }) => (
        <ConfirmButton
          label="Revoke"
          variant="quiet"
          title={`Revoke access of ${client.name}?`}
          confirm="Revoke access"
          onConfirm={() => revoke.runAsync(id)}
        >
          The app loses access immediately. To connect it again, somebody has to sign in and allow it.
        </ConfirmButton>
      ),
    },
  ]
}
