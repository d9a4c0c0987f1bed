import type { Fields } from './canary-places.ts'

/** Requests to the platform, and everything that it has answered. */
export class Visitor {
  readonly #url: string
  readonly #admin: string
  /** What was asked, and the answer with its headers. */
  readonly answers: (readonly [where: string, text: string])[] = []
  readonly #streams: { readonly end: AbortController; readonly read: Promise<void> }[] = []

  constructor(url: string, admin: string) {
    this.#url = url
    this.#admin = admin
  }

  async send(method: string, path: string, { key = this.#admin, body, headers = {}, isSecret = false }: Sent = {}) {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: {
        ...{ authorization: `Bearer ${key}`, accept: 'application/json, text/event-stream' },
        ...{ 'content-type': 'application/json' },
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await textOf(response)
    if (!isSecret) this.answers.push([`${method} ${path}`, `${JSON.stringify([...response.headers])}${text}`])
    return { status: response.status, text, body: () => JSON.parse(text) }
  }

  api(method: string, path: string, sent?: Sent) {
    return this.send(method, `/api/v1${path}`, sent)
  }

  async list(path: string): Promise<Fields[]> {
    return (await this.api('GET', `${path}?limit=100`)).body().data ?? []
  }

  watch(path: string): void {
    const end = new AbortController()
    const read = async () => {
      const response = await fetch(`${this.#url}/api/v1${path}`, {
        headers: { authorization: `Bearer ${this.#admin}` },
        signal: end.signal,
      })
      for await (const chunk of response.body ?? []) this.answers.push([path, Buffer.from(chunk).toString()])
    }
    this.#streams.push({ end, read: read().catch(() => {}) })
  }

  async endStreams(): Promise<void> {
    for (const { end } of this.#streams) end.abort()
    await Promise.all(this.#streams.map(({ read }) => read))
  }
}

interface Sent {
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  /** The answer contains a secret on purpose, once. */
  readonly isSecret?: boolean
}

/** A stream that does not end is read for a second. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text()
  const chunks: Buffer[] = []
  const late = AbortSignal.timeout(1000)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  late.addEventListener('abort', () => void reader.cancel())
  for (let next = await reader.read(); !next.done; next = await reader.read()) chunks.push(Buffer.from(next.value))
  return Buffer.concat(chunks).toString()
}

/** Calls every action of every tool, as an administrator and with a key that can only call. */
export async function callTools(visitor: Visitor, caller: string): Promise<void> {
  for (const { id } of await visitor.list('/tools')) {
    const { text } = await visitor.api('GET', `/tools/${id}/actions`)
    const actions: { name: string }[] = JSON.parse(text).data ?? [{ name: 'x' }]
    for (const { name: action } of actions) {
      for (const body of [{ action, wait: false }, { action, input: 7 }, { action: `${action}?` }]) {
        await visitor.api('POST', `/tools/${id}/call`, { body })
      }
      await visitor.api('POST', `/tools/${id}/call`, { body: { action, wait: false }, key: caller })
    }
    await visitor.api('POST', `/tools/${id}/refresh`, { body: {} })
    await visitor.api('PATCH', `/tools/${id}`, { body: { name: 'not a name' } })
  }
}

export async function callOverMcp(visitor: Visitor, key: string): Promise<void> {
  const ask = (server: string, method: string, params: object) =>
    visitor.send('POST', `/mcp/${server}`, { key, body: { jsonrpc: '2.0', id: 1, method, params } })
  const { tools } = (await ask('all', 'tools/list', {})).body().result as { tools: { name: string }[] }
  for (const { name } of tools.filter((tool) => !tool.name.includes('asks'))) {
    await ask('all', 'tools/call', { name, arguments: {} })
  }
  const query = { integration_query: ['Send a header to the service'] }
  await ask('desk', 'tools/call', { name: 'RESOLVE_ACTIONS', arguments: query })
  await ask('desk', 'tools/call', {
    name: 'EXECUTE_ACTION',
    arguments: { identifier: 'tools:header', input_payload: {} },
  })
}

/** Runs an agent with every tool on every provider. */
export async function runAgents(visitor: Visitor): Promise<void> {
  const tools = (await visitor.list('/tools')).filter(({ name }) => !['asks', 'upstream_away'].includes(name ?? ''))
  const tool_ids = tools.map(({ id }) => id)
  for (const { id, name } of await visitor.list('/ai-providers')) {
    const agent = (await visitor.api('POST', '/agents', { body: { name, ai_provider_id: id, tool_ids } })).body()
    await visitor.api('POST', `/agents/${agent.id}/generate`, { body: { prompt: 'Look' } })
    await visitor.api('POST', `/agents/${agent.id}/generate`, { body: { prompt: 'Look', stream: true } })
    await visitor.api('POST', `/ai-providers/${id}/test`, { body: {} })
  }
}

/** Every GET operation, for every record. */
export async function readEverything(visitor: Visitor, keys: readonly string[]): Promise<number> {
  const { paths } = (await visitor.send('GET', '/api/v1/openapi.json')).body()
  const expand = async (path: string): Promise<string[]> => {
    const [, before, after = ''] = /^(.*?)\/\{\w+\}(.*)$/.exec(path) ?? []
    if (before === undefined) return [path]
    const ids = (await visitor.list(before)).map(({ id }) => id)
    return (await Promise.all(ids.map((id) => expand(`${before}/${id}${after}`)))).flat()
  }
  const gets = Object.keys(paths).filter((path) => paths[path].get)
  const all = (await Promise.all(gets.map((path) => expand(path.replace(/^\/api\/v1/, ''))))).flat()
  for (const path of all) {
    const isStream = /stream$|events$/.test(path)
    for (const key of isStream ? keys.slice(0, 1) : keys) await visitor.api('GET', path, { key })
  }
  for (const path of ['/metrics', '/health', '/ready', '/']) await visitor.send('GET', path)
  return all.length
}
