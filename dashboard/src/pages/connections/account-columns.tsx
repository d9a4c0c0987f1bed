import type { Connection } from '../../api.ts'
import { ago, when } from '../../format.ts'
import { type Column, rowLink } from '../../ui/table.tsx'
import { ConnectionBadge, ownerName, useTargetName } from './names.tsx'

const Time = ({ time, none }: { time: string | null; none: string }) =>
  time ? (
    <time dateTime={time} title={when(time)} className="whitespace-nowrap text-soft">
      {ago(time)}
    </time>
  ) : (
    <span className="text-soft">{none}</span>
  )

/** The columns of the list of connections. */
export function useColumns(open: (id: string) => void): Column<Connection>[] {
  const targetName = useTargetName()
  return [
    {
      name: 'App',
      cell: (connection) => (
        <>
          <button type="button" onClick={() => open(connection.id)} className={`${rowLink} text-left`}>
            {targetName(connection)}
          </button>
          {connection.tool_id && <div className="text-xs text-soft">one tool</div>}
          <div className="mt-0.5 text-xs break-words text-soft md:hidden">
            {ownerName(connection)}
            {connection.account && ` · ${connection.account}`}
          </div>
        </>
      ),
    },
    { name: 'Owner', wideOnly: true, cell: (connection) => <Owner connection={connection} /> },
    {
      name: 'Status',
      cell: ({ status, error }) => (
        <>
          <ConnectionBadge status={status} />
          {error && <div className="mt-0.5 line-clamp-2 max-w-72 text-xs break-words text-bad">{error}</div>}
        </>
      ),
    },
    {
      name: 'Account',
      wideOnly: true,
      cell: ({ account, scopes }) => (
        <div className="max-w-72">
          <div className="break-words">{account ?? <span className="text-soft">unknown</span>}</div>
          {scopes.length > 0 && (
            <div className="truncate font-mono text-xs text-soft" title={scopes.join(' ')}>
              {scopes.join(' ')}
            </div>
          )}
        </div>
      ),
    },
    { name: 'Last used', wideOnly: true, cell: ({ last_used_at }) => <Time time={last_used_at} none="never" /> },
    { name: 'Token expires', wideOnly: true, end: true, cell: ({ expires_at }) => <Time time={expires_at} none="–" /> },
  ]
}

const Owner = ({ connection }: { connection: Connection }) =>
  connection.owner.kind === 'project' ? (
    <span className="text-soft">project</span>
  ) : (
    <span className="break-all">{ownerName(connection)}</span>
  )
