import { setImmediate } from 'node:timers/promises'
import type { PreparedAction, ToolEntry } from './catalogue.ts'

export interface ActionDifference {
  readonly added: string[]
  readonly changed: string[]
  readonly removed: string[]
}

type Actions = Pick<ToolEntry, 'actions'>

/** Milliseconds of work before other requests get their turn. */
const sliceMs = 5

/** Which actions of a tool came, changed and went, by name. Without an earlier state, nothing changed. */
export async function differenceOf(before: Actions | undefined, after: Actions): Promise<ActionDifference> {
  if (!before) return { added: [], changed: [], removed: [] }
  const changed: string[] = []
  const added: string[] = []
  let until = performance.now() + sliceMs
  for (const [name, one] of after.actions) {
    const last = before.actions.get(name)
    if (!last) added.push(name)
    else if (textOf(last) !== textOf(one)) changed.push(name)
    if (performance.now() < until) continue
    await setImmediate()
    until = performance.now() + sliceMs
  }
  return { added, changed, removed: [...before.actions.keys()].filter((name) => !after.actions.has(name)) }
}

const textOf = ({ action: { description, schema, definition } }: PreparedAction): string =>
  JSON.stringify({ description, schema, definition })
