import type { ReactNode } from 'react'
import { ago, when } from '../format.ts'
import { Answered, type Asked } from './notice.tsx'
import { Panel } from './panel.tsx'
import { type Column, Table } from './table.tsx'

interface Props<Item> {
  readonly query: Asked<readonly Item[]>
  readonly label: string
  readonly columns: readonly Column<Item>[]
  /** What is said where there is none yet. */
  readonly empty: ReactNode
}

/** All that there is of a kind, as lists that people keep by hand are shown. */
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

/** The last column of what people change. */
export const changed: Column<{ readonly updated_at: string }> = {
  name: 'Changed',
  wideOnly: true,
  end: true,
  cell: ({ updated_at }) => (
    <time dateTime={updated_at} title={when(updated_at)} className="text-soft">
      {ago(updated_at)}
    </time>
  ),
}
