import { bytes } from '../../format.ts'
import type { Column } from '../../ui/table.tsx'

export const tagsColumn: Column<{ id: string; tags: Record<string, string> }> = {
  name: 'Tags',
  wideOnly: true,
  cell: ({ tags }) => (
    <span className="text-soft">
      {Object.entries(tags)
        .map(([name, value]) => `${name}: ${value}`)
        .join(', ')}
    </span>
  ),
}

export const sizeColumn: Column<{ id: string; size: number }> = {
  name: 'Size',
  end: true,
  cell: ({ size }) => <span className="text-soft tabular-nums">{bytes(size)}</span>,
}
