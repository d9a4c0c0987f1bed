import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { createParser } from 'eventsource-parser'
import { describe, expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey } from './kit.ts'
import { echo, startUpstream, type UpstreamTool } from './upstream.ts'

const use = (tool: string, args: object) =>
  `<use_mcp_tool>\n<server_name>desk</server_name>\n<tool_name>${tool}</tool_name>\n<arguments>${JSON.stringify(args)}</arguments>\n</use_mcp_tool>`

const broken: UpstreamTool = { ...echo, name: 'broken', run: () => ({ content: [], isError: true }) }

async function started(tools: UpstreamTool[] = [echo, broken]) {
  const upstream = await startUpstream(tools)
  const platform = await startListening()
  await platform.post('/tools', { name: 'up', type: 'mcp', mcp: { url: upstream.url } })
  await platform.post('/servers', { slug: 'desk', tool_names: 'original' })
  return {
    upstream,
    platform,
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

interface Event {
  readonly name: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: tests read events field by field
  readonly data: any
}

/** A message that is being sent, and the events that have come back so far. */
class Message {
  readonly events: Event[] = []
  readonly #request: ReturnType<typeof request>
  readonly #closed: Promise<unknown>

  constructor(url: string, type: string, query = '') {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': type }
    this.#request = request(`${url}/api/v1/xml/execute${query}`, { method: 'POST', headers })
    this.#closed = once(this.#request, 'response').then(([response]: IncomingMessage[]) => this.#read(response))
    this.#closed.catch(() => {})
    this.#request.on('error', () => {})
  }

  async #read(response: IncomingMessage | undefined): Promise<void> {
    if (!response) return
    const parser = createParser({
      onEvent: ({ event, data }) => void this.events.push({ name: event, data: JSON.parse(data) }),
    })
    for await (const part of response.setEncoding('utf8')) parser.feed(part)
  }

  write(text: string | Uint8Array): void {
    this.#request.write(text)
  }

  async end(): Promise<readonly Event[]> {
    this.#request.end()
    await this.#closed
    return this.events
  }

  leave(): void {
    this.#request.destroy()
  }
}

const results = (events: readonly Event[]) => events.filter(({ name }) => name === 'result').map(({ data }) => data)

describe('a message that is still being written', () => {
  test('has its calls run as soon as they are complete, one after the other', async () => {
    await using desk = await started()
    const message = new Message(desk.platform.url, 'text/plain')

    message.write(`First I ask.\n${use('echo', { text: 'one' })}`)
    await expect.poll(() => results(message.events)).toMatchObject([{ status: 'success', text: '{"text":"one"}' }])
    message.write(use('echo', { text: 'two' }))
    const events = await message.end()

    expect(results(events)).toHaveLength(2)
    expect(events.at(-1)).toMatchObject({
      name: 'done',
      data: { text: expect.stringContaining(`[use_mcp_tool for 'desk'] Result:\n{"text":"two"}`) },
    })
    expect(desk.upstream.calls.map(({ input }) => input.text)).toEqual(['one', 'two'])
    const { data } = (await desk.platform.get('/calls?surface=xml')).body
    expect(data).toHaveLength(2)
  })

  test.each([
    ['text/plain; charset=utf-8', (piece: string) => piece],
    ['application/x-ndjson', (piece: string) => `${JSON.stringify({ text: piece })}\n`],
    [
      'text/event-stream',
      (piece: string) => `data: ${JSON.stringify({ choices: [{ delta: { content: piece } }] })}\n\n`,
    ],
  ])('has the same results as the whole text: %s', async (type, encode) => {
    await using desk = await started()
    const text = `A café: ${use('echo', { text: 'é </arguments>' })}\n\`\`\`\n${use('echo', { text: 'quoted' })}\n\`\`\`\n${use('broken', { text: 'x' })}${use('echo', { text: 'late' })}<use_mcp_tool>`
    const message = new Message(desk.platform.url, type)
    const { body: whole } = await desk.platform.post('/xml/execute', { text })

    for (let at = 0; at < text.length; at += 7) message.write(encode(text.slice(at, at + 7)))
    if (type === 'text/event-stream') message.write('data: [DONE]\n\n')
    const events = await message.end()

    expect(results(events)).toEqual(whole.results)
    expect(events.at(-1)).toEqual({ name: 'done', data: whole })
    expect(whole.results.map(({ status }: { status: string }) => status)).toEqual([
      ...['success', 'skipped', 'error', 'skipped', 'skipped'],
    ])
  })

  test('can be cut in the middle of a character', async () => {
    await using desk = await started()
    const message = new Message(desk.platform.url, 'text/plain')
    const bytes = Buffer.from(use('echo', { text: 'São João' }))

    for (const byte of bytes) message.write(Buffer.from([byte]))
    const events = await message.end()

    expect(results(events)).toMatchObject([{ status: 'success', text: '{"text":"São João"}' }])
  })

  test('takes the other fields from the query', async () => {
    await using desk = await started()
    const message = new Message(desk.platform.url, 'text/plain', '?fenced=run&servers=desk')

    message.write(`\`\`\`\n${use('echo', { text: 'fenced' })}\n\`\`\`\n`)

    expect(results(await message.end())).toMatchObject([{ status: 'success' }])
  })

  test('over 1 MiB ends with an error, after the results so far', async () => {
    await using desk = await started()
    const message = new Message(desk.platform.url, 'text/plain')

    message.write(use('echo', { text: 'one' }))
    await expect.poll(() => results(message.events)).toHaveLength(1)
    message.write('x'.repeat(1024 * 1024))
    const events = await message.end()

    expect(events.map(({ name }) => name)).toEqual(['result', 'error'])
    expect(events[1]?.data.error.code).toBe('MESSAGE_TOO_LARGE')
  })

  test('with a piece that cannot be read ends with an error', async () => {
    await using desk = await started()
    const message = new Message(desk.platform.url, 'application/x-ndjson')

    message.write('{"text": \n')
    const events = await message.end()

    expect(events).toMatchObject([{ name: 'error', data: { error: { code: 'VALIDATION_FAILED' } } }])
  })

  test('whose sender leaves has no further call', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const slow: UpstreamTool = { ...echo, run: () => held.then(() => ({ content: [] })) }
    await using desk = await started([slow])
    const message = new Message(desk.platform.url, 'text/plain')

    message.write(use('echo', { text: 'one' }) + use('echo', { text: 'two' }))
    await expect.poll(() => desk.upstream.calls).toHaveLength(1)
    message.leave()
    const ended = async () => (await desk.platform.get('/calls?surface=xml')).body.data[0]?.status
    await expect.poll(ended).not.toBe('pending')
    release()

    expect(desk.upstream.calls).toHaveLength(1)
  })
})

test('a request without a text, or with one in an unknown form, is refused', async () => {
  await using desk = await started()
  const send = (body: string, type: string, headers: Record<string, string> = {}) =>
    desk.platform.fetch('/api/v1/xml/execute', {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': type, ...headers },
      body,
    })

  const empty = await desk.platform.post('/xml/execute', {})
  const unknown = await send('<a/>', 'application/xml')
  const repeated = await send('hello', 'text/plain', { 'idempotency-key': 'one' })

  expect(empty.body.error.details.errors).toEqual([{ path: 'text', message: 'is missing' }])
  expect(unknown.status).toBe(415)
  expect(await repeated.text()).toContain('cannot be used with a body that arrives in pieces')
})
