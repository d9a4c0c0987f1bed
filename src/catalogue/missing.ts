import { orDidYouMean } from '../lib/nearest.ts'
import type { Fault } from '../model/errors.ts'
import type { ServerApp } from '../model/server.ts'
import type { Store } from '../store/store.ts'
import type { ToolName } from '../store/tools.ts'
import { appOf, commonApp } from './app.ts'
import type { Catalogue } from './catalogue.ts'

export interface MissingDeps {
  readonly store: Store
  readonly catalogue: Catalogue
  /** Whether messages may suggest existing names. */
  readonly maySuggest: boolean
}

/**
 * Finds apps and actions that a server lists but the project does not have: an app without tools, or an action that no tool
 * of the app has. Entries that the server already had are accepted. Does not query upstream MCP servers: if one is not
 * cached, any action of its app is accepted.
 */
export async function findMissing(
  apps: readonly ServerApp[],
  before: readonly ServerApp[],
  projectId: string,
  { store, catalogue, maySuggest }: MissingDeps,
): Promise<Fault[]> {
  const byApp = Map.groupBy(await store.tools.names(projectId), appOf)
  const faults: Fault[] = []
  // Finding similar names takes a while, so only the first few faults get a suggestion.
  const instead = (wrong: string, known: readonly string[]) =>
    maySuggest && faults.length < maxHints ? orDidYouMean(wrong, known) : ''
  for (const [index, { slug, actions = [] }] of apps.entries()) {
    if (faults.length > maxFaults) return [...faults.slice(0, maxFaults), { path: '', message: 'and many more' }]
    const tools = byApp.get(slug)
    const had = before.find((app) => app.slug === slug)
    // The default app may be empty.
    if (!tools && !had && slug !== commonApp) {
      const message = `no tool in the project has the app "${slug}"${instead(slug, [...byApp.keys()])}`
      faults.push({ path: `apps.${index}.slug`, message })
      continue
    }
    const known = actions.length > 0 ? await actionsOf(tools ?? [], catalogue) : undefined
    if (!known) continue
    const fine = new Set([...known, ...(had?.actions ?? [])])
    for (const [place, action] of actions.entries()) {
      if (fine.has(action)) continue
      if (faults.length > maxFaults) break
      const message = `"${slug}" has no action "${action}"${instead(action, known)}`
      faults.push({ path: `apps.${index}.actions.${place}`, message })
    }
  }
  return faults
}

const maxFaults = 100
const maxHints = 3

/** Undefined if an upstream server would have to be queried. */
async function actionsOf(tools: readonly ToolName[], catalogue: Catalogue): Promise<string[] | undefined> {
  const names: string[] = []
  for (const { id } of tools) {
    const entry = await catalogue.findLocal(id)
    if (!entry) return undefined
    names.push(...entry.actions.keys())
  }
  return names
}
