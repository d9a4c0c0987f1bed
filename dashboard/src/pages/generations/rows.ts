import type { Step, StepCall, TraceNode } from '../agents/records.ts'

interface Common {
  readonly key: string
  readonly depth: number
  readonly from: number
  /** Undefined while it is in progress. */
  readonly to: number | undefined
}

/** One line of the timeline. */
export type Row =
  | (Common & { readonly kind: 'generation'; readonly node: TraceNode })
  | (Common & { readonly kind: 'step'; readonly step: Step; readonly isOver: boolean })
  | (Common & { readonly kind: 'call'; readonly call: StepCall; readonly isOver: boolean })

const at = (time: string | null): number | undefined => (time === null ? undefined : Date.parse(time))

/** A run, its steps, their calls and the runs those started, in order of start time. */
export function rowsOf(node: TraceNode, depth = 0): Row[] {
  const isOver = node.completed_at !== null
  // Steps and calls in progress end when their run is stopped.
  const end = (time: string | null) => at(time) ?? at(node.completed_at)
  const rows: Row[] = [
    { kind: 'generation', key: node.id, depth, from: Date.parse(node.started_at), to: at(node.completed_at), node },
  ]
  const placed = new Set<string>()
  for (const step of node.step_list) {
    const from = Date.parse(step.started_at)
    rows.push({
      kind: 'step',
      key: `${node.id} ${step.number}`,
      depth: depth + 1,
      from,
      to: end(step.answered_at),
      step,
      isOver,
    })
    for (const call of step.calls) {
      const begun = Date.parse(call.started_at)
      rows.push({
        kind: 'call',
        key: call.call_id,
        depth: depth + 2,
        from: begun,
        to: end(call.completed_at),
        call,
        isOver,
      })
      for (const child of node.children.filter(({ parent_call_id }) => parent_call_id === call.call_id)) {
        placed.add(child.id)
        rows.push(...rowsOf(child, depth + 3))
      }
    }
  }
  for (const child of node.children) if (!placed.has(child.id)) rows.push(...rowsOf(child, depth + 1))
  return rows
}

export interface Span {
  readonly from: number
  readonly to: number
}

export const spanOf = (rows: readonly Row[], now: number): Span => {
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  for (const row of rows) {
    from = Math.min(from, row.from)
    to = Math.max(to, row.to ?? now)
  }
  return { from, to: Math.max(to, from + 1) }
}
