import type { ReactNode } from 'react'

export interface Column<Item> {
  readonly name: string
  readonly cell: (item: Item) => ReactNode
  /** Hidden on a phone. */
  readonly wideOnly?: boolean
  readonly end?: boolean
}

export function Table<Item extends { id: string }>({
  label,
  items,
  columns,
}: {
  label: string
  items: readonly Item[]
  columns: readonly Column<Item>[]
}) {
  const shape = ({ wideOnly, end }: Column<Item>) =>
    `px-4 py-2 ${wideOnly ? 'hidden md:table-cell' : ''} ${end ? 'text-right' : 'text-left'}`
  return (
    <table aria-label={label} className="w-full table-auto text-sm">
      <thead>
        <tr className="border-b border-line text-xs text-soft">
          {columns.map((column) => (
            <th key={column.name} scope="col" className={`${shape(column)} font-medium`}>
              {column.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.id} className="relative border-b border-line last:border-0 hover:bg-hover">
            {columns.map((column) => (
              <td key={column.name} className={`${shape(column)} align-middle`}>
                {column.cell(item)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Class of the link that opens a row. It makes the whole row clickable. */
export const rowLink = 'font-medium text-ink break-words hover:text-accent after:absolute after:inset-0'
