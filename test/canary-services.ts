import { type Received, startService } from './kit.ts'
import { echo, startUpstream } from './upstream.ts'

/** Tools that an agent calls, by the names that models see. */
export const callable = [
  ...['by_reference', 'by_reference_failing', 'by_variable', 'by_file', 'header', 'header_failing', 'basic', 'query'],
  ...['preset', 'unreachable', 'upstream_reveal', 'upstream_fail', 'program_env_reveal', 'program_args_reveal'],
]
export const script = {
  steps: [
    { when: { turn_step: 1, tools: callable }, answer: { tool_calls: callable.map((name) => ({ name, args: {} })) } },
    { answer: 'Done' },
  ],
}

/** Returns what it was sent: as JSON, as the words of a model, or with an error. */
export function mirror({ url, headers, method, body }: Received) {
  const text = JSON.stringify({ url, headers, method, body })
  if (url.startsWith('/fail')) return { status: 418, body: JSON.stringify({ error: { message: text } }) }
  if (!url.startsWith('/model/')) return { body: text }
  const chunk = (delta: object, more: object = {}) =>
    `data: ${JSON.stringify({ id: '1', choices: [{ index: 0, delta, ...more }] })}\n\n`
  const pieces = text.match(/.{1,7}/gs) ?? []
  const stream = [
    ...pieces.map((content) => chunk({ content })),
    chunk({}, { finish_reason: 'stop' }),
    'data: [DONE]\n\n',
  ]
  return { headers: { 'content-type': 'text/event-stream' }, body: stream.join('') }
}

/** An authorization server: /authorize gives the code of a client, and /token/<client> its tokens. */
export async function startIssuing() {
  const issued = new Map<string, { code: string; tokens: object }>()
  const service = await startService(({ url }) => {
    const { pathname, searchParams: query } = new URL(url, 'http://x')
    if (pathname !== '/authorize') {
      const tokens = issued.get(pathname.replace('/token/', ''))?.tokens
      return tokens ? { body: JSON.stringify(tokens) } : { status: 404, body: '{}' }
    }
    const { code = '' } = issued.get(query.get('client_id') ?? '') ?? {}
    const location = `${query.get('redirect_uri')}?code=${code}&state=${query.get('state')}`
    return { status: 302, headers: { location } }
  })
  return {
    ...service,
    issue: (name: string, code: string, tokens: object) => void issued.set(name, { code, tokens }),
  }
}

/** An MCP server that returns the headers of the request. */
export async function startRevealing() {
  const upstream = await startUpstream()
  const reveal = () => JSON.stringify(upstream.headers)
  const inputSchema = { type: 'object' as const }
  upstream.change([
    { ...echo, inputSchema, name: 'reveal', run: () => ({ content: [{ type: 'text', text: reveal() }] }) },
    {
      ...{ ...echo, inputSchema, name: 'fail' },
      run: () => {
        throw new Error(reveal())
      },
    },
  ])
  return upstream
}
