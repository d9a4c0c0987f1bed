import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { PlatformError } from '../model/errors.ts'
import { Id, Text } from '../model/page.ts'
import type { Tool } from '../model/tool.ts'
import { mcp } from '../tools/mcp.ts'
import { AnyEntry, Entry, readEntry, reasonToLeaveOut } from './mcp-servers-entry.ts'
import { creates, type Operation, parseInput } from './operation.ts'

/** Registers each server as a tool, through the `create-tool` operation. */
export function importMcpServers(createTool: Operation): Operation {
  const Output = z.object({
    created: z.array(createTool.output as z.ZodType<Tool>),
    skipped: z.array(
      z.object({
        name: z.string(),
        reason: z.string(),
        refused: z.boolean().describe('False if the file itself excludes it, because it is disabled or empty'),
      }),
    ),
    not_taken_over: z
      .array(z.object({ name: z.string().describe('Name of the tool'), field: z.string(), instead: z.string() }))
      .describe('Settings in the file that could not be imported into the created tools'),
    to_fill_in: z
      .array(z.object({ name: z.string().describe('Name of the tool'), field: z.string(), placeholder: z.string() }))
      .describe(
        'Placeholders that an editor would fill in. They are stored unchanged in the tool’s mcp until you replace them',
      ),
  })

  return creates({
    name: 'import-mcp-servers',
    permission: 'tools:ImportMcpServers',
    route: 'POST /tools/import',
    summary: 'Import MCP servers from an mcpServers file, as used by editors and desktop assistants',
    example: { mcpServers: { docs: { url: 'https://mcp.example.com/mcp' } } },
    kind: 'tool',
    status: 200,
    input: z.strictObject({
      project_id: Id.optional(),
      mcpServers: z.record(Text.min(1).max(200), AnyEntry).describe('The mcpServers object of the file'),
    }),
    output: Output,
    async run({ mcpServers }, context) {
      const result: z.infer<typeof Output> = { created: [], skipped: [], not_taken_over: [], to_fill_in: [] }
      for (const [index, [key, entry]] of Object.entries(mcpServers).entries()) {
        // Yield to other requests: SQLite is synchronous, so nothing in this loop does.
        if (index % 20 === 19) await setImmediate()
        const reason = reasonToLeaveOut(entry)
        if (reason) {
          result.skipped.push({ name: key, reason, refused: false })
          continue
        }
        const name = key.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, 64)
        try {
          const { notTakenOver, toFillIn, ...draft } = readEntry(parseInput(Entry, entry))
          const draftOfTool = { project_id: context.projectId, name, type: mcp.type, ...draft }
          result.created.push((await createTool.perform(draftOfTool, context)) as Tool)
          result.not_taken_over.push(...notTakenOver.map((one) => ({ name, ...one })))
          result.to_fill_in.push(...toFillIn.map((one) => ({ name, ...one })))
        } catch (error) {
          // An entry that cannot be registered must not fail the others.
          if (!(error instanceof PlatformError)) throw error
          result.skipped.push({ name: key, reason: error.message, refused: true })
        }
      }
      return result
    },
  })
}
