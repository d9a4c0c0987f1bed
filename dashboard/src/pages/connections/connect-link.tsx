import { useQuery, useQueryClient } from '@tanstack/react-query'
import { ask, type Connection, type ConnectLink, qm } from '../../api.ts'
import { when } from '../../format.ts'
import { Button, buttonClass, CopyButton, Row } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { useAction } from '../../use-action.ts'
import { isUsable } from './names.tsx'

/** Who connects an account, and for what. */
export interface Subject {
  readonly project_id?: string
  readonly app?: string
  readonly tool_id?: string
  readonly end_user_id?: string
}

export interface CreatedLink {
  readonly subject: Subject
  readonly link: ConnectLink
  /** The connection at that time. */
  readonly before: Connection | undefined
}

async function findConnection(query: Subject): Promise<Connection | null> {
  const { data } = await ask(qm.connections.listConnections({ query: { ...query, limit: 200 } }))
  return data.find(({ owner }) => owner.id === (query.end_user_id ?? null)) ?? null
}

/** Creates a link. The visitor's own browser opens it if it is for the project; a user gets it from you. */
export const useConnectLink = () =>
  useAction(async (subject: Subject): Promise<CreatedLink> => {
    const before = (await findConnection(subject)) ?? undefined
    const link = await ask(qm.connections.createConnectLink({ body: subject }))
    if (subject.end_user_id === undefined) window.open(link.connect_url, '_blank', 'noopener')
    return { subject, link, before }
  })

/** Shows the link until the account is connected. */
export function LinkDialog({
  created: { subject, link, before },
  onClose,
}: {
  created: CreatedLink
  onClose: () => void
}) {
  const { data: now } = useQuery({
    queryKey: ['connecting', subject],
    queryFn: () => findConnection(subject),
    refetchInterval: (query) => (hasChanged(query.state.data, before) ? false : 2000),
    refetchIntervalInBackground: true,
    staleTime: 0,
  })
  const queries = useQueryClient()
  const close = () => {
    void queries.invalidateQueries({ queryKey: ['connections'] })
    onClose()
  }
  const user = subject.end_user_id
  const isDone = hasChanged(now, before)
  const how = user
    ? `Send this link to ${user}. Whoever opens it connects their account for this user.`
    : 'The page opens in a new tab. If your browser blocked it, open it here.'
  return (
    <Dialog
      open
      onClose={close}
      title={isDone ? 'Account connected' : 'Connect account'}
      description={isDone ? 'Tools use it with their next call.' : how}
    >
      <div className="space-y-3">
        {isDone ? (
          <p role="status" className="text-sm text-good">
            Connected{now?.account && ` as ${now.account}`}
          </p>
        ) : (
          <>
            <code
              data-testid="connect-link"
              className="block rounded-md bg-sunken p-3 font-mono text-sm break-all select-all"
            >
              {link.connect_url}
            </code>
            <p role="status" className="text-xs text-soft">
              Waiting for the account. The link works once, until {when(link.expires_at)}.
            </p>
          </>
        )}
        <Row className="justify-end">
          {!isDone && (
            <>
              <CopyButton text={link.connect_url} label="Copy link" />
              <a href={link.connect_url} target="_blank" rel="noreferrer" className={buttonClass()}>
                Open page
              </a>
            </>
          )}
          <Button variant="main" onClick={close}>
            Done
          </Button>
        </Row>
      </div>
    </Dialog>
  )
}

const hasChanged = (now: Connection | null | undefined, before: Connection | undefined): boolean =>
  !!now && isUsable(now) && now.updated_at !== before?.updated_at
