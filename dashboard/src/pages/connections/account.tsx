import { ask, type Connection, qm } from '../../api.ts'
import { when } from '../../format.ts'
import { useMay } from '../../queries.ts'
import { Button, Row } from '../../ui/button.tsx'
import { ConfirmButton, Dialog } from '../../ui/dialog.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Facts } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { LinkDialog, type Subject, useConnectLink } from './connect-link.tsx'
import { Diagnosis } from './diagnosis.tsx'
import { ConnectionBadge, hasPage, ownerName, typeNames, useTargetName } from './names.tsx'

/** One connection, with what its owner or an operator can do about it. */
export function Account({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const targetName = useTargetName()
  const reconnect = useConnectLink()
  const mayDiagnose = useMay('connections:DiagnoseConnection')
  if (reconnect.data) return <LinkDialog created={reconnect.data} onClose={onClose} />
  return (
    <Dialog open onClose={onClose} title={targetName(connection)} description={typeNames[connection.type]}>
      <div className="space-y-4">
        {connection.error && (
          <p role="alert" className="rounded-md border border-bad/40 bg-bad-wash px-3 py-2 text-sm break-words">
            {connection.error}
          </p>
        )}
        <Facts facts={factsOf(connection)} />
        <ErrorNotice error={reconnect.error} />
        <Actions
          connection={connection}
          busy={reconnect.busy}
          onReconnect={() => reconnect.run(subjectOf(connection))}
          onGone={onClose}
        />
        {mayDiagnose && (
          <div className="border-t border-line pt-4">
            <Diagnosis subject={() => subjectOf(connection)} />
          </div>
        )}
      </div>
    </Dialog>
  )
}

const subjectOf = ({ project_id, app, tool_id, owner }: Connection): Subject => ({
  project_id,
  ...(app !== null && { app }),
  ...(tool_id !== null && { tool_id }),
  ...(owner.id !== null && { end_user_id: owner.id }),
})

const time = (value: string | null, none: string) => (value ? when(value) : none)

const factsOf = (connection: Connection) =>
  [
    ['Status', <ConnectionBadge key="status" status={connection.status} />],
    ['Owner', ownerName(connection)],
    ['Account', connection.account ?? 'unknown'],
    ['Scopes', connection.scopes.join(' ') || 'none'],
    ['Last used', time(connection.last_used_at, 'never')],
    ['Token expires', time(connection.expires_at, 'never, as far as is known')],
    ...(connection.issuer ? ([['Authorization server', connection.issuer]] as const) : []),
    ['Sent only to', connection.origins.join(', ') || 'nothing'],
    ['Connected', when(connection.created_at)],
  ] as const

function Actions({
  connection,
  busy,
  onReconnect,
  onGone,
}: {
  connection: Connection
  busy: boolean
  onReconnect: () => void
  onGone: () => void
}) {
  const path = { connection_id: connection.id }
  const changes = ['connections']
  const revoke = useAction(() => ask(qm.connections.updateConnection({ path, body: { status: 'revoked' } })), {
    changes,
  })
  const remove = useAction(() => ask(qm.connections.deleteConnection({ path })), { changes, onDone: onGone })
  const mayUpdate = useMay('connections:UpdateConnection')
  const mayDelete = useMay('connections:DeleteConnection')
  const mayLink = useMay('connections:CreateConnectLink') && hasPage(connection.type)
  const atService = 'The tokens are also revoked at the service, if it supports that.'
  return (
    <Row className="border-t border-line pt-4">
      {mayLink && (
        <Button variant="main" busy={busy} onClick={onReconnect}>
          Reconnect
        </Button>
      )}
      {mayUpdate && connection.status !== 'revoked' && (
        <ConfirmButton
          label="Revoke"
          title="Revoke the connection?"
          confirm="Revoke connection"
          onConfirm={() => revoke.runAsync()}
        >
          Calls that need it fail until the owner connects again. {atService}
        </ConfirmButton>
      )}
      {mayDelete && (
        <ConfirmButton
          label="Delete"
          title="Delete the connection?"
          confirm="Delete connection"
          onConfirm={() => remove.runAsync()}
        >
          {connection.owner.kind === 'user' &&
            'Calls of this user then use the account of the project, if there is one. '}
          {atService}
        </ConfirmButton>
      )}
    </Row>
  )
}
