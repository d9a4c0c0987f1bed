import { Agent, type IncomingMessage, request } from 'node:http'
import { text as readAll } from 'node:stream/consumers'

export interface Posted {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** A caller with one connection, on which it asks one thing after the other. */
export class Connected implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  async ask(method: string, path: string, headers: Record<string, string> = {}, body = ''): Promise<Posted> {
    const asked = request(`${this.#url}${path}`, {
      method,
      agent: this.#agent,
      headers: { ...headers, ...(body && { 'content-length': Buffer.byteLength(body) }) },
    })
    const answered = new Promise<IncomingMessage>((resolve, reject) =>
      asked.on('response', resolve).on('error', reject),
    )
    asked.end(body)
    const answer = await answered
    return { status: answer.statusCode ?? 0, headers: answer.headers, text: await readAll(answer) }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

type Way = (url: string, path: string, headers: Record<string, string>, body: string) => Promise<Posted>

/** The same JSON posted in each way that there is to an answer. */
export const ways: Readonly<Record<string, Way>> = {
  'the short way': async (url, path, headers, body) => {
    using connected = new Connected(url)
    return await connected.ask('POST', path, { 'content-type': 'application/json', ...headers }, body)
  },
  'the short way on a connection that Node has': async (url, path, headers, body) => {
    using connected = new Connected(url)
    await connected.ask('GET', '/health')
    return await connected.ask('POST', path, { 'content-type': 'application/json', ...headers }, body)
  },
  'the long way, which a content type with a parameter leads to': async (url, path, headers, body) => {
    using connected = new Connected(url)
    return await connected.ask('POST', path, { 'content-type': 'application/json; way=long', ...headers }, body)
  },
}

/** What is answered each way, one after the other. */
export const everyWay = async <T>(ask: (way: Way) => Promise<T>): Promise<T[]> => {
  const answers: T[] = []
  for (const way of Object.values(ways)) answers.push(await ask(way))
  return answers
}
