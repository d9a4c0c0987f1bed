import { orDidYouMean } from '../lib/nearest.ts'
import type { Fault } from '../model/errors.ts'
import type { ServerApp } from '../model/server.ts'
import type { Store } from '../store/store.ts'
import type { ToolName } from '../store/tools.ts'
import { findToolType } from '../tools/index.ts'
import { appOf, type Catalogue, commonApp } from './catalogue.ts'

export interface Looking {
  readonly store: Store
  readonly catalogue: Catalogue
  /** Whether what there is instead may be named. */
  readonly mayKnow: boolean
}

/**
 * What a server is to offer and a project does not have: an app of no tool, or an action that none of the app's tools has.
 * What it offered before is let be. MCP servers are not asked for the sake of it: of one that nobody has asked lately any
 * action is believed.
 */
export async function findMissing(
  apps: readonly ServerApp[],
  before: readonly ServerApp[],
  projectId: string,
  { store, catalogue, mayKnow }: Looking,
): Promise<Fault[]> {
  const byApp = Map.groupBy(await store.tools.names(projectId), nameOfApp)
  const faults: Fault[] = []
  // To look for what may have been meant takes a while, and nobody reads it a hundred times.
  const instead = (wrong: string, known: readonly string[]) =>
    mayKnow && faults.length < mostHints ? orDidYouMean(wrong, known) : ''
  for (const [index, { slug, actions = [] }] of apps.entries()) {
    if (faults.length > mostFaults) return [...faults.slice(0, mostFaults), { path: '', message: 'and many more' }]
    const tools = byApp.get(slug)
    const had = before.find((app) => app.slug === slug)
    // Of those with a single action there need be none yet.
    if (!tools && !had && slug !== commonApp) {
      const message = `no tool of the project is filed under "${slug}"${instead(slug, [...byApp.keys()])}`
      faults.push({ path: `apps.${index}.slug`, message })
      continue
    }
    const known = actions.length > 0 ? await actionsOf(tools ?? [], catalogue) : undefined
    if (!known) continue
    const fine = new Set([...known, ...(had?.actions ?? [])])
    for (const [place, action] of actions.entries()) {
      if (fine.has(action)) continue
      if (faults.length > mostFaults) break
      const message = `"${slug}" has no action "${action}"${instead(action, known)}`
      faults.push({ path: `apps.${index}.actions.${place}`, message })
    }
  }
  return faults
}

const mostFaults = 100
const mostHints = 3

/** The slug that a tool's actions are filed under. */
export function nameOfApp(tool: ToolName): string {
  const type = findToolType(tool.type)
  return type ? appOf(tool, type) : tool.name
}

/** Undefined where someone else would have to be asked. */
async function actionsOf(tools: readonly ToolName[], catalogue: Catalogue): Promise<string[] | undefined> {
  const names: string[] = []
  for (const { id, type } of tools) {
    const entry = type === 'mcp' ? catalogue.known(id) : await catalogue.find(id)
    if (!entry) return undefined
    names.push(...entry.offers.keys())
  }
  return names
}
