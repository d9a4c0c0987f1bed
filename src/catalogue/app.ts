import type { StoredTool } from '../store/tools.ts'

/** The default app of tools with a single action. */
export const commonApp = 'tools'

export const appOf = (tool: Pick<StoredTool, 'app' | 'name' | 'many_actions'>) =>
  tool.app ?? (tool.many_actions ? tool.name.toLowerCase() : commonApp)
