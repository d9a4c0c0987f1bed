import { useState } from 'react'
import { type AuthConfig, qm } from '../../api.ts'
import { useAll, useMay } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, Row } from '../../ui/button.tsx'
import { changed, Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { type Column, rowLink } from '../../ui/table.tsx'
import { AuthConfigDialog } from './auth-config-dialog.tsx'
import { typeNames, useTargetName } from './names.tsx'

/** How the accounts of each app are connected. */
export function AuthConfigs() {
  const configs = useAll('auth-configs', (query) => qm.authConfigs.listAuthConfigs({ query }))
  const [edited, setEdited] = useState<AuthConfig | 'new'>()
  const add = useMay('auth-configs:CreateAuthConfig') && (
    <Button variant="main" icon="plus" onClick={() => setEdited('new')}>
      New auth config
    </Button>
  )
  return (
    <div className="space-y-3">
      {(configs.data?.length ?? 0) > 0 && <Row className="justify-end">{add}</Row>}
      <Listing
        query={configs}
        label="Auth configs"
        columns={useColumns(setEdited)}
        empty={
          <Empty title="No auth configs yet" action={add}>
            Say how the accounts of an app are connected: the key that users enter, or the OAuth client that signs them
            in. MCP servers need none.
          </Empty>
        }
      />
      {edited && (
        <AuthConfigDialog config={edited === 'new' ? undefined : edited} onClose={() => setEdited(undefined)} />
      )}
    </div>
  )
}

function useColumns(open: (config: AuthConfig) => void): Column<AuthConfig>[] {
  const targetName = useTargetName()
  return [
    {
      name: 'App',
      cell: (config) => (
        <button type="button" onClick={() => open(config)} className={`${rowLink} text-left`}>
          {targetName(config)}
        </button>
      ),
    },
    { name: 'Type', cell: ({ type }) => <Badge>{typeNames[type]}</Badge> },
    {
      name: 'Details',
      wideOnly: true,
      cell: ({ client_id, header, query, scopes }) => (
        <span className="font-mono text-xs break-all text-soft">
          {[client_id, header, query && `?${query}=`, ...(scopes ?? [])].filter(Boolean).join(' ')}
        </span>
      ),
    },
    changed,
  ]
}
