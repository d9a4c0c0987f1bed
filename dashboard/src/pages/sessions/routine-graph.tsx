import type { Routine, RoutinePosition } from './records.ts'

const width = 150
const height = 40
const gapX = 50
const gapY = 24

interface Placed {
  readonly id: string
  readonly kind: string
  readonly x: number
  readonly y: number
}

/** Each node in the column of its distance from the entry. */
function placed({ nodes, entry }: Routine): Placed[] {
  const depths = new Map([[entry, 0]])
  for (const [id, depth] of depths) {
    for (const { to } of nodes.find((node) => node.id === id)?.transitions ?? []) {
      if (!depths.has(to)) depths.set(to, depth + 1)
    }
  }
  const rows = new Map<number, number>()
  return nodes.map(({ id, kind }) => {
    const column = depths.get(id) ?? 0
    const row = rows.get(column) ?? 0
    rows.set(column, row + 1)
    return { id, kind, x: column * (width + gapX), y: row * (height + gapY) }
  })
}

/** A routine as a graph, with the node at which the session is. */
export function RoutineGraph({ routine, position }: { routine: Routine; position: RoutinePosition | undefined }) {
  const nodes = placed(routine)
  const find = (id: string) => nodes.find((node) => node.id === id)
  const right = Math.max(...nodes.map(({ x }) => x)) + width
  const bottom = Math.max(...nodes.map(({ y }) => y)) + height
  const where = position ? `at ${position.node_id}, ${position.status}` : 'not started'
  return (
    <>
      <p className="mb-2 text-xs text-soft">
        {where}
        {position?.reason && `: ${position.reason}`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard */}
      <section className="overflow-auto" tabIndex={0} aria-label={`Graph of ${routine.title}`}>
        <svg
          role="img"
          aria-label={`${routine.title}: ${nodes.map(({ id }) => id).join(', ')}; ${where}`}
          width={right + 4}
          height={bottom + 4}
          viewBox={`-2 -2 ${right + 4} ${bottom + 4}`}
        >
          {routine.nodes.flatMap(({ id, transitions }) =>
            transitions.map(({ to, condition, when }) => {
              const from = find(id)
              const target = find(to)
              if (!from || !target) return null
              const line = { x1: from.x + width, y1: from.y + height / 2, x2: target.x, y2: target.y + height / 2 }
              return (
                <line key={`${id} ${to}`} {...line} className="stroke-soft" strokeWidth={condition || when ? 1 : 2}>
                  <title>{condition ?? when ?? 'always'}</title>
                </line>
              )
            }),
          )}
          {nodes.map(({ id, kind, x, y }) => {
            const isHere = position?.status === 'active' && position.node_id === id
            const wasHere = position?.visited.includes(id) ?? false
            const shape = isHere
              ? 'fill-accent-wash stroke-accent'
              : wasHere
                ? 'fill-sunken stroke-ink'
                : 'fill-panel stroke-line'
            return (
              <g key={id}>
                <rect x={x} y={y} width={width} height={height} rx={6} className={shape} strokeWidth={isHere ? 2 : 1} />
                <text x={x + 8} y={y + 17} className="fill-ink text-xs font-medium">
                  {id.length > 20 ? `${id.slice(0, 19)}…` : id}
                </text>
                <text x={x + 8} y={y + 32} className="fill-soft text-xs">
                  {kind}
                </text>
              </g>
            )
          })}
        </svg>
      </section>
    </>
  )
}
