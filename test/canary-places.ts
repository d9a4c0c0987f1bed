/**
 * The places that take a secret. A new place is an entry in `places`: the tools, agents, providers and webhooks that it
 * creates are used like all others.
 */
export interface Site {
  create(path: string, body: object, headers?: Record<string, string>): Promise<Fields>
  /** A service that returns whatever it is sent. Below /fail, with an error. */
  readonly service: string
  /** An MCP server that returns the headers it was sent, and another one that does not. */
  readonly upstream: string
  readonly discreet: string
  readonly models: string
  readonly keep: (secret: string) => void
  /** An authorization server that answers with the codes and tokens it is told to. */
  readonly issuer: { readonly url: string; issue(name: string, code: string, tokens: object): void }
  readonly platform: string
  readonly admin: string
  /** Something else that the platform has sent, to be searched. */
  readonly record: (where: string, text: string) => void
}
export type Fields = Record<string, string> & { readonly id: string }

/** Where it is planted, whether the services of this test see it, and how. */
export type Place = readonly [
  name: string,
  use: 'seen' | 'unseen',
  plant: (site: Site, secret: string) => Promise<unknown>,
]

const program = new URL('echoing-program.ts', import.meta.url).pathname
const parameters = { type: 'object', properties: { path: { type: 'string' } } }
const http = (name: string, url: string, more: object = {}, tool: object = {}) => ({
  name,
  parameters,
  execute: { url, method: 'GET', ...more },
  ...tool,
})
const mcp = (name: string, address: object) => ({ name, type: 'mcp', mcp: address })
const stdio = (name: string, more: object) => mcp(name, { command: process.execPath, args: [program], ...more })
const provider = (name: string, base_url: string, more: object) => ({
  ...{ name, type: 'openai-compatible', base_url, default_model: 'm', max_retries: 0, record: true },
  ...more,
})

export const places: readonly Place[] = [
  [
    'secret',
    'seen',
    async ({ create, service }, value) => {
      await create('/secrets', { name: 'STORED', value })
      await create('/tools', http('by_reference', `${service}/{path}?k=\${{ secrets.STORED }}`))
      await create('/tools', http('by_reference_failing', `${service}/fail/\${{ secrets.STORED }}`))
    },
  ],
  [
    'secret in a variable',
    'seen',
    async ({ create, service }) => {
      await create('/secrets', { name: 'IN_VARIABLE', env: 'CANARY_VARIABLE' })
      await create('/tools', http('by_variable', service, { headers: { 'x-any': 'v=${{ secrets.IN_VARIABLE }}' } }))
    },
  ],
  [
    'secret in a file',
    'seen',
    async ({ create, service }) => {
      await create('/secrets', { name: 'IN_FILE', file: 'canary' })
      await create('/tools', http('by_file', service, { headers: { 'x-any': '${{ secrets.IN_FILE }}' } }))
    },
  ],
  [
    'header',
    'seen',
    ({ create, service }, value) =>
      create('/tools', http('header', `${service}/ok`, { headers: { authorization: `Bearer ${plain(value)}` } })),
  ],
  [
    'header of a failing service',
    'seen',
    ({ create, service }, value) =>
      create('/tools', http('header_failing', `${service}/fail`, { headers: { 'x-api-key': plain(value) } })),
  ],
  [
    'header with an unusual name',
    'seen',
    ({ create, service }, value) =>
      create('/tools', http('header_unusual', service, { headers: { 'x-shop': plain(value) } })),
  ],
  [
    'basic authentication',
    'seen',
    ({ create, service }, value) =>
      create('/tools', http('basic', service, { headers: { authorization: `Basic ${btoa(`ana:${plain(value)}`)}` } })),
  ],
  [
    'query of a URL',
    'seen',
    ({ create, service }, value) => create('/tools', http('query', `${service}/ok?key=${encodeURIComponent(value)}`)),
  ],
  [
    'query of an unreachable URL',
    'unseen',
    ({ create }, value) =>
      create('/tools', http('unreachable', `http://127.0.0.1:9/?key=${encodeURIComponent(value)}`)),
  ],
  [
    'preset',
    'seen',
    ({ create, service }, value) =>
      create('/tools', http('preset', service, {}, { preset_parameters: { password: value } })),
  ],
  [
    'tool that needs approval',
    'unseen',
    ({ create, service }, value) =>
      create('/tools', http('asks', `${service}?token=${encodeURIComponent(value)}`, {}, { auto_approve: false })),
  ],
  [
    'header of an MCP server',
    'seen',
    ({ create, upstream }, value) =>
      create('/tools', mcp('upstream', { url: upstream, headers: { 'x-api-key': plain(value) } })),
  ],
  [
    'query of an MCP server',
    'unseen',
    ({ create, discreet }, value) =>
      create('/tools', mcp('upstream_url', { url: `${discreet}?key=${encodeURIComponent(value)}` })),
  ],
  [
    'password of an unreachable MCP server',
    'unseen',
    ({ create }, value) =>
      create('/tools', mcp('upstream_away', { url: `http://ana:${encodeURIComponent(value)}@127.0.0.1:9/mcp` })),
  ],
  [
    'environment of a program',
    'unseen',
    ({ create }, value) => create('/tools', stdio('program_env', { env: { API_TOKEN: value } })),
  ],
  [
    'arguments of a program',
    'unseen',
    ({ create }, value) =>
      create('/tools', stdio('program_args', { args: [program, '--token', value, `--api-key=${value}`] })),
  ],
  [
    'tool that was changed',
    'unseen',
    async ({ create, service }, value) => {
      const { id } = await create('/tools', http('changed', service, { headers: { 'x-key': plain(value) } }))
      await create(`PATCH /tools/${id}`, { execute: { url: service, headers: { 'x-key': 'n0thing-of-interest' } } })
    },
  ],
  [
    'key of an AI provider',
    'seen',
    ({ create, models }, value) =>
      create('/ai-providers', provider('model', `${models}/v1`, { api_key: plain(value) })),
  ],
  [
    'header of an AI provider',
    'seen',
    ({ create, models }, value) =>
      create('/ai-providers', provider('model_header', `${models}/v1`, { headers: { 'x-team': plain(value) } })),
  ],
  [
    'key of an AI provider that returns it',
    'seen',
    ({ create, service }, value) =>
      create('/ai-providers', provider('model_echo', `${service}/model`, { api_key: plain(value) })),
  ],
  [
    'key of a failing AI provider',
    'seen',
    ({ create, service }, value) =>
      create('/ai-providers', provider('model_failing', `${service}/fail`, { api_key: plain(value) })),
  ],
  [
    'query of a webhook’s URL',
    'seen',
    ({ create, service }, value) =>
      create('/webhooks', { name: 'keyed', url: `${service}/hook?key=${encodeURIComponent(value)}`, events: ['*'] }),
  ],
  [
    'query of a failing webhook’s URL',
    'seen',
    ({ create, service }, value) =>
      create('/webhooks', { name: 'keyed-f', url: `${service}/fail?key=${encodeURIComponent(value)}`, events: ['*'] }),
  ],
  [
    'secret of a webhook',
    'unseen',
    async ({ create, service, keep }) =>
      keep((await create('/webhooks', { name: 'hook', url: `${service}/hook`, events: ['*'] })).secret ?? ''),
  ],
  [
    'secret of a failing webhook',
    'unseen',
    async ({ create, service, keep }) =>
      keep((await create('/webhooks', { name: 'failing', url: `${service}/fail`, events: ['*'] })).secret ?? ''),
  ],
  [
    'API key',
    'unseen',
    async ({ create, keep }) =>
      keep((await create('/api-keys', { name: 'k', access_policy_ids: ['pol_caller'] })).key ?? ''),
  ],
  [
    'API key with an idempotency key',
    'unseen',
    async ({ create, keep }) =>
      keep((await create('/api-keys', { name: 'i', access_policy_ids: [] }, { 'idempotency-key': 'once' })).key ?? ''),
  ],
]

/** Requests that are refused must not repeat what they contained. */
export const refused = (secret: string): readonly [path: string, body: unknown][] => [
  ['/secrets', { name: 'not a name', value: secret }],
  ['/secrets', { name: 'A', value: secret, env: 'PATH' }],
  ['/tools', http('a', 'http://a.example', { headers: { 'not a header': secret } })],
  ['/tools', http('a', 'http://a.example', { headers: { 'x-key': `${secret}\n` } })],
  ['/tools', http('a', `ftp://a.example?key=${secret}`)],
  ['/tools', http('a', 'http://a.example', { headers: { 'x-key': 'k' }, secret })],
  ['/tools', mcp('a', { url: `http://ana:${secret}@`, env: { A: secret } })],
  ['/tools/import', { mcpServers: { a: { url: 7, headers: { authorization: secret } } } }],
  ['/ai-providers', provider('a', 'http://a.example', { api_key: `${secret}\u0000` })],
  ['/ai-providers', provider('a', `http://ana:${secret}@a.example`, {})],
  ['/webhooks', { name: 'a', url: `http://ana:${secret}@a.example`, events: ['*'] }],
  ['/secrets', `{ "name": "A", "value": "${secret}"`],
  ['/dashboard/session', { key: `sk_${secret}` }],
]

/** For places where not every character is allowed. */
export const plain = (secret: string) => secret.replaceAll(/[^\w-]/g, '-')
