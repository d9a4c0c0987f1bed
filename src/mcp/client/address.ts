import { z } from 'zod'
import { aboutCredentials } from '../../credentials/tool-secrets.ts'
import { Headers } from '../../model/tool.ts'

/** How to connect to an MCP server: a URL, or a local program. */
export const McpAddress = z
  .strictObject({
    url: z
      .string()
      .max(8192)
      .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https URL')
      .optional()
      .meta({ title: 'URL', description: 'Where the server listens, with Streamable HTTP or SSE' }),
    headers: Headers.optional().meta({
      title: 'Headers',
      description: `Sent with every request to it. ${aboutCredentials}`,
    }),
    command: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .meta({ title: 'Command', description: 'A program that speaks MCP on its standard input and output' }),
    args: z.array(z.string().max(8192)).max(200).optional().meta({ title: 'Arguments' }),
    env: z
      .record(z.string().min(1).max(256), z.string().max(32_768))
      .optional()
      .meta({ title: 'Environment', description: aboutCredentials }),
    cwd: z.string().min(1).max(4096).optional().meta({ title: 'Working directory' }),
    required: z.boolean().optional().meta({
      title: 'Required',
      description: 'The platform contacts the server at each start, and does not start while it is unreachable',
    }),
  })
  .refine(({ url, command }) => (url === undefined) !== (command === undefined), 'must have either "url" or "command"')
  .refine(
    ({ url, args, env, cwd }) => url === undefined || !(args ?? env ?? cwd),
    'has fields of a program beside a "url"',
  )
export type McpAddress = z.infer<typeof McpAddress>
