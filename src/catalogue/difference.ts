import type { PreparedAction, ToolEntry } from './catalogue.ts'

export interface ActionDifference {
  readonly added: string[]
  readonly changed: string[]
  readonly removed: string[]
}

type Actions = Pick<ToolEntry, 'actions'>

/** Which actions of a tool came, changed and went, by name. Without an earlier state, nothing changed. */
export function differenceOf(before: Actions | undefined, after: Actions): ActionDifference {
  if (!before) return { added: [], changed: [], removed: [] }
  const changed: string[] = []
  const added: string[] = []
  for (const [name, one] of after.actions) {
    const last = before.actions.get(name)
    if (!last) added.push(name)
    else if (textOf(last) !== textOf(one)) changed.push(name)
  }
  return { added, changed, removed: [...before.actions.keys()].filter((name) => !after.actions.has(name)) }
}

const textOf = ({ action: { description, schema, definition } }: PreparedAction): string =>
  JSON.stringify({ description, schema, definition })
