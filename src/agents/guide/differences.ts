export interface Difference {
  readonly added: string[]
  readonly removed: string[]
}

type Parts = 'applies' | 'nodes' | 'tools' | 'calls' | 'violations'

/** What differs in any step of a turn. */
export class Differences {
  readonly all: Record<Parts, Difference> = {
    ...{ applies: { added: [], removed: [] }, nodes: { added: [], removed: [] }, tools: { added: [], removed: [] } },
    ...{ calls: { added: [], removed: [] }, violations: { added: [], removed: [] } },
  }

  get any(): boolean {
    return Object.values(this.all).some(({ added, removed }) => added.length + removed.length > 0)
  }

  /** Whether they differ. */
  compare(part: Parts, before: readonly string[], after: readonly string[]): boolean {
    const { added, removed } = this.all[part]
    const fresh = after.filter((id) => !before.includes(id))
    const gone = before.filter((id) => !after.includes(id))
    added.push(...fresh.filter((id) => !added.includes(id)))
    removed.push(...gone.filter((id) => !removed.includes(id)))
    return fresh.length + gone.length > 0
  }
}
