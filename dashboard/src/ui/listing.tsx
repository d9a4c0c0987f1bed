import type { ReactNode } from 'react'
import { ago, when } from '../format.ts'
import { Answered, type QueryState } from './notice.tsx'
import { Panel } from './panel.tsx'
import { type Column, Table } from './table.tsx'

interface Props<Item> {
  readonly query: QueryState<readonly Item[]>
  readonly label: string
  readonly columns: readonly Column<Item>[]
  /** Shown if there are no items. */
  readonly empty: ReactNode
}

/** A table of all records of a kind. */
export const Listing = <Item extends { id: string }>({ query, label, columns, empty }: Props<Item>) => (
  <Answered query={query}>
    {(all) =>
      all.length === 0 ? (
        empty
      ) : (
        <Panel flush>
          <Table label={label} items={all} columns={columns} />
        </Panel>
      )
    }
  </Answered>
)

/** The last column of editable records. */
export const changed: Column<{ readonly updated_at: string }> = {
  name: 'Updated',
  wideOnly: true,
  end: true,
  cell: ({ updated_at }) => (
    <time dateTime={updated_at} title={when(updated_at)} className="text-soft">
      {ago(updated_at)}
    </time>
  ),
}
