/** An MCP server as a program of its own. Prints its URL, then a line for each request (its headers) and each call. */
import { echo, startUpstream, type UpstreamTool } from './upstream.ts'

const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] })
const object = (properties: Record<string, object>, required: string[] = Object.keys(properties)) =>
  ({ type: 'object', properties, required }) as UpstreamTool['inputSchema']
const string = { type: 'string' }
const says = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

const tools: UpstreamTool[] = [
  echo,
  {
    name: 'authenticate_customer',
    description: 'Checks the PIN of a customer. Use it before you reveal anything about an account.',
    inputSchema: object({ pin: string }),
    run: ({ pin }) =>
      pin === '1234' ? text({ authenticated: true }) : { ...text({ authenticated: false }), isError: true },
  },
  {
    name: 'get_balance',
    description: 'The balance of the account of the authenticated customer',
    inputSchema: object({ account: { type: 'string', enum: ['savings', 'current'] } }),
    annotations: { readOnlyHint: true },
    run: ({ account }) => text({ account, balance: 42 }),
  },
  { name: 'send_link', description: 'Sends a link', inputSchema: object({}), run: () => text({ sent: true }) },
  {
    name: 'schedule',
    description: `Schedules something, on the server ${process.env.MCP_NAME ?? ''}`,
    inputSchema: object({ day: string }),
    run: ({ day }) => text({ scheduled: day, by: process.env.MCP_NAME ?? '' }),
  },
  {
    name: 'wait',
    description: 'Takes as long as it is told',
    inputSchema: object({ ms: { type: 'number' } }),
    run: async ({ ms }) => {
      await new Promise((resolve) => setTimeout(resolve, Number(ms)))
      return text({ waited: ms })
    },
  },
]

const reporting = tools.map((tool) => ({
  ...tool,
  run: (...args: Parameters<NonNullable<UpstreamTool['run']>>) => {
    says({ call: tool.name, input: args[0] })
    return tool.run?.(...args) ?? text(args[0])
  },
}))
const upstream = await startUpstream(reporting)
let seen = 0
setInterval(() => {
  for (const { authorization } of upstream.headers.slice(seen)) says({ authorization: authorization ?? null })
  seen = upstream.headers.length
}, 5)
process.stdin.on('data', async (line) => {
  await (String(line).trim() === 'stop' ? upstream.stop() : upstream.restart())
  says({ done: true })
})
says({ url: upstream.url })
