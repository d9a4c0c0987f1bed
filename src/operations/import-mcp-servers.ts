import { z } from 'zod'
import { PlatformError } from '../model/errors.ts'
import { Id, Text } from '../model/page.ts'
import { type McpAddress, Tool } from '../model/tool.ts'
import { type Context, creates } from './operation.ts'
import { createTool } from './tools.ts'

/** One entry, as editors and desktop assistants keep it. What we have no use for is ignored. */
const Entry = z.looseObject({
  url: z.string().optional(),
  serverUrl: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
  cwd: z.string().optional(),
  disabled: z.boolean().optional(),
})

export const importMcpServers = creates({
  name: 'import-mcp-servers',
  permission: 'tools:ImportMcpServers',
  route: 'POST /tools/import',
  summary: 'Register the MCP servers of an mcpServers file, as editors and desktop assistants keep it',
  example: { mcpServers: { docs: { url: 'https://mcp.example.com/mcp' } } },
  kind: 'tool',
  status: 200,
  input: z.strictObject({
    project_id: Id.optional(),
    mcpServers: z.record(Text.min(1).max(200), Entry).describe('The content of the file, under this key'),
  }),
  output: z.object({
    created: z.array(Tool),
    skipped: z.array(z.object({ name: z.string(), reason: z.string() })),
  }),
  async run({ mcpServers }, context) {
    const created: Tool[] = []
    const skipped: { name: string; reason: string }[] = []
    for (const [name, entry] of Object.entries(mcpServers)) {
      try {
        if (entry.disabled) skipped.push({ name, reason: 'It is disabled in the file.' })
        else created.push(await register(name, entry, context))
      } catch (error) {
        // One entry that cannot be registered is no reason to leave out the others.
        if (!(error instanceof PlatformError)) throw error
        skipped.push({ name, reason: error.message })
      }
    }
    return { created, skipped }
  },
})

async function register(
  name: string,
  entry: z.infer<typeof Entry>,
  context: Context & { projectId: string },
): Promise<Tool> {
  const { url, serverUrl, headers, command, args, env, cwd } = entry
  const address = url ?? serverUrl
  const given = address === undefined ? { command, args, env, cwd } : { url: address, headers }
  const mcp = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as McpAddress
  const toolName = name.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, 64)
  return (await createTool.perform(
    { project_id: context.projectId, name: toolName, type: 'mcp', mcp },
    context,
  )) as Tool
}
