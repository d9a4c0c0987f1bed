import { StartError } from '../model/start-error.ts'
import type { Store } from '../store/store.ts'
import type { StoredTool } from '../store/tools.ts'
import type { ToolTypes } from '../tools/tool-types.ts'
import type { Catalogue } from './catalogue.ts'

/**
 * Loads the actions of every required tool, and throws if one is unavailable. The operator then sees the problem at the
 * start, instead of users seeing failed calls.
 */
export async function contactRequired(store: Store, catalogue: Catalogue, types: ToolTypes): Promise<void> {
  const required: StoredTool[] = []
  for (const type of types.all) {
    if (!type.required) continue
    required.push(...(await store.tools.ofType(type.type)).filter(({ config }) => type.required?.(config)))
  }
  const missing = (await Promise.all(required.map((tool) => reasonMissing(tool, catalogue)))).filter(
    (reason) => reason !== undefined,
  )
  if (missing.length === 0) return
  const which = missing.length === 1 ? 'A required tool' : `${missing.length} required tools`
  throw new StartError(
    `${which} cannot be used. ${missing.join(' ')} Fix this and start again. Or start with --ignore-required and set "required": false in the tool.`,
  )
}

async function reasonMissing(tool: StoredTool, catalogue: Catalogue): Promise<string | undefined> {
  try {
    await catalogue.find(tool.id)
    return undefined
  } catch (error) {
    return `Tool "${tool.name}" (${tool.id}): ${(error as Error).message}`
  }
}
