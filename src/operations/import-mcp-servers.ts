import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { PlatformError } from '../model/errors.ts'
import { Id, Text } from '../model/page.ts'
import { Tool } from '../model/tool.ts'
import { AnyEntry, Entry, readEntry, reasonToLeaveOut } from './mcp-servers-entry.ts'
import { creates, parseInput } from './operation.ts'
import { createTool } from './tools.ts'

const Output = z.object({
  created: z.array(Tool),
  skipped: z.array(
    z.object({
      name: z.string(),
      reason: z.string(),
      refused: z.boolean().describe('False: the file itself leaves it out, as one that is disabled or empty'),
    }),
  ),
  not_taken_over: z
    .array(z.object({ name: z.string().describe('The tool’s'), field: z.string(), instead: z.string() }))
    .describe('What the file says of those that were created, and the tools do not'),
  to_fill_in: z
    .array(z.object({ name: z.string().describe('The tool’s'), field: z.string(), placeholder: z.string() }))
    .describe('What an editor would fill in, and stands in the tool’s mcp as it is until someone replaces it'),
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
    mcpServers: z.record(Text.min(1).max(200), AnyEntry).describe('The content of the file, under this key'),
  }),
  output: Output,
  async run({ mcpServers }, context) {
    const result: z.infer<typeof Output> = { created: [], skipped: [], not_taken_over: [], to_fill_in: [] }
    for (const [index, [key, entry]] of Object.entries(mcpServers).entries()) {
      // Others are served between them: with SQLite, nothing here waits.
      if (index % 20 === 19) await setImmediate()
      const reason = reasonToLeaveOut(entry)
      if (reason) {
        result.skipped.push({ name: key, reason, refused: false })
        continue
      }
      const name = key.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, 64)
      try {
        const { notTakenOver, toFillIn, ...draft } = readEntry(name, parseInput(Entry, entry))
        const draftOfTool = { project_id: context.projectId, name, type: 'mcp', ...draft }
        result.created.push((await createTool.perform(draftOfTool, context)) as Tool)
        result.not_taken_over.push(...notTakenOver.map((one) => ({ name, ...one })))
        result.to_fill_in.push(...toFillIn.map((one) => ({ name, ...one })))
      } catch (error) {
        // One entry that cannot be registered is no reason to leave out the others.
        if (!(error instanceof PlatformError)) throw error
        result.skipped.push({ name: key, reason: error.message, refused: true })
      }
    }
    return result
  },
})
