import { StartError } from '../model/start-error.ts'
import type { Store } from '../store/store.ts'
import type { ToolRecord } from '../store/tools.ts'
import type { Catalogue } from './catalogue.ts'

/**
 * Contacts every MCP server that somebody counts on, and reads what it offers. Throws where one cannot be reached: then
 * its users learn of it from whoever starts the platform, and not from calls that fail.
 */
export async function contactRequired(store: Store, catalogue: Catalogue): Promise<void> {
  const required = (await store.tools.ofType('mcp')).filter(({ mcp }) => mcp?.required)
  const missing = (await Promise.all(required.map((tool) => reasonMissing(tool, catalogue)))).filter(
    (reason) => reason !== undefined,
  )
  if (missing.length === 0) return
  const which = missing.length === 1 ? 'An MCP server that is' : `${missing.length} MCP servers that are`
  throw new StartError(
    `${which} required cannot be used. ${missing.join(' ')} See to that and start again; or start with --ignore-required, and have the tool no longer require it ("required": false in its "mcp").`,
  )
}

async function reasonMissing(tool: ToolRecord, catalogue: Catalogue): Promise<string | undefined> {
  try {
    await catalogue.find(tool.id)
    return undefined
  } catch (error) {
    return `Tool "${tool.name}" (${tool.id}): ${(error as Error).message}`
  }
}
