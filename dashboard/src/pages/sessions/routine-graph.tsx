import { useId } from 'react'
import type { Routine, RoutinePosition } from './records.ts'

const width = 150
const height = 40
const gapX = 50
const gapY = 24
/** How far below their nodes transitions go that lead back. */
const bend = 22

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

/** A transition to the right is a curve between two sides. One that leads back goes below. */
function curve(from: Placed, to: Placed): string {
  if (to.x > from.x) {
    const [x1, y1, x2, y2] = [from.x + width, from.y + height / 2, to.x - 2, to.y + height / 2]
    return `M ${x1} ${y1} C ${x1 + gapX / 2} ${y1}, ${x2 - gapX / 2} ${y2}, ${x2} ${y2}`
  }
  const [x1, y1, x2, y2] = [from.x + width / 2, from.y + height, to.x + width / 2 + 12, to.y + height + 2]
  return `M ${x1} ${y1} C ${x1} ${y1 + bend}, ${x2} ${y2 + bend}, ${x2} ${y2}`
}

/** A routine as a graph, with the node at which the session is. */
export function RoutineGraph({ routine, position }: { routine: Routine; position: RoutinePosition | undefined }) {
  const nodes = placed(routine)
  const arrow = useId()
  const find = (id: string) => nodes.find((node) => node.id === id)
  const right = Math.max(...nodes.map(({ x }) => x)) + width
  const bottom = Math.max(...nodes.map(({ y }) => y)) + height + bend
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
          <marker
            id={arrow}
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerUnits="userSpaceOnUse"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M 0 0 L 8 4 L 0 8 z" className="fill-soft" />
          </marker>
          {routine.nodes.flatMap(({ id, transitions }) =>
            transitions.map(({ to, condition, when }) => {
              const from = find(id)
              const target = find(to)
              if (!from || !target) return null
              return (
                <path
                  key={`${id} ${to}`}
                  d={curve(from, target)}
                  className="fill-transparent stroke-soft"
                  strokeWidth={condition || when ? 1 : 2}
                  markerEnd={`url(#${arrow})`}
                >
                  <title>{condition ?? when ?? 'always'}</title>
                </path>
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
