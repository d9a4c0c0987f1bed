import { client } from './client.ts'
import { http } from './http.ts'
import { mcp } from './mcp.ts'
import { openapi } from './openapi/openapi.ts'
import { platform } from './platform.ts'
import type { ToolType } from './tool-type.ts'
import { workflow } from './workflow/workflow.ts'

export const toolTypes: readonly ToolType[] = [http, openapi, mcp, client, platform, workflow]
