import { client } from './client.ts'
import { http } from './http.ts'
import { mcp } from './mcp.ts'
import { platform } from './platform.ts'
import type { ToolType } from './tool-type.ts'

/** What a tool can be. */
export const toolTypes: readonly ToolType[] = [http, client, mcp, platform]

export const findToolType = (name: string): ToolType | undefined =>
  toolTypes.find(({ type, aliases }) => type === name || aliases?.includes(name))
