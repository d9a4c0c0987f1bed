import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, type ConnectionStatus, qm } from '../../api.ts'
import { count } from '../../format.ts'
import { useProjectId } from '../../project.ts'
import { useMay } from '../../queries.ts'
import { Button, Row } from '../../ui/button.tsx'
import { Choice } from '../../ui/choice.tsx'
import { Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Account } from './account.tsx'
import { useColumns } from './account-columns.tsx'
import { Connect } from './connect.tsx'
import { statusOptions } from './names.tsx'

const limit = 200

interface Filter {
  readonly status?: ConnectionStatus
  readonly end_user_id?: string
}

/** An application may have thousands of end users, so the platform filters and only the first rows are shown. */
const useConnections = (filter: Filter) => {
  const project = useProjectId()
  return useQuery({
    queryKey: ['connections', project, filter],
    queryFn: () =>
      ask(qm.connections.listConnections({ query: { ...filter, ...(project && { project_id: project }), limit } })),
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: 'always',
  })
}

export function Accounts() {
  const [filter, setFilter] = useState<Filter>({})
  const found = useConnections(filter)
  const [isNew, setNew] = useState(false)
  const [opened, setOpened] = useState<string>()
  const connection = found.data?.data.find(({ id }) => id === opened)
  const isFiltered = Object.keys(filter).length > 0
  const total = found.data?.total ?? 0
  const add = useMay('connections:CreateConnectLink') && (
    <Button variant="main" icon="plus" onClick={() => setNew(true)}>
      Connect account
    </Button>
  )
  return (
    <div className="space-y-3">
      {(total > 0 || isFiltered) && (
        <Row className="justify-between">
          <Filters filter={filter} onChange={setFilter} />
          {add}
        </Row>
      )}
      <Listing
        query={{ ...found, data: found.data?.data }}
        label="Connections"
        columns={useColumns(setOpened)}
        empty={
          isFiltered ? (
            <Empty title="No matching connections" />
          ) : (
            <Empty title="No connections yet" action={add}>
              Connect an app for the whole project, or send your end users a link with which they connect their own
              accounts.
            </Empty>
          )
        }
      />
      {total > limit && (
        <p className="text-sm text-soft">
          The first {limit} of {count(total)} connections. Filter by end user to find others.
        </p>
      )}
      {isNew && <Connect onClose={() => setNew(false)} />}
      {connection && <Account connection={connection} onClose={() => setOpened(undefined)} />}
    </div>
  )
}

function Filters({ filter, onChange }: { filter: Filter; onChange: (filter: Filter) => void }) {
  const { status, end_user_id } = filter
  return (
    <Row>
      <Choice
        label="Status"
        value={status}
        options={statusOptions}
        className="w-auto"
        onChange={(next) =>
          onChange({ ...(end_user_id && { end_user_id }), ...(next && { status: next as ConnectionStatus }) })
        }
      />
      <input
        aria-label="End user"
        placeholder="End user"
        className="control w-40 text-sm"
        value={end_user_id ?? ''}
        onChange={({ target: { value } }) =>
          onChange({ ...(status && { status }), ...(value && { end_user_id: value }) })
        }
      />
    </Row>
  )
}
