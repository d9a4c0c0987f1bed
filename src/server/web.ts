import type { Exchange } from './exchange.ts'

/** Adapts an exchange to libraries that use `Request` and `Response`. Pass the body if it has already been read. */
export function toRequest(exchange: Exchange, body?: string): Request {
  const { method, path, query, headers } = exchange
  const url =
    URL.parse(`http://${headers.host ?? 'localhost'}${path}${query && `?${query}`}`) ?? `http://localhost${path}`
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(url, {
    method,
    headers: headers as Record<string, string>,
    signal: exchange.gone,
    ...(hasBody && { body: body ?? (ReadableStream.from(exchange.chunks()) as ReadableStream), duplex: 'half' }),
  })
}

/** Streams a response until it ends or `until` aborts. */
export async function sendResponse(exchange: Exchange, response: Response, until?: AbortSignal): Promise<void> {
  const headers = Object.fromEntries(response.headers)
  if (!response.body) return exchange.send(response.status, headers)
  if (!headers['content-type']?.startsWith('text/event-stream')) {
    return exchange.send(response.status, headers, new Uint8Array(await response.arrayBuffer()))
  }
  const reader = response.body.getReader()
  const leave = () => void reader.cancel().catch(() => {})
  exchange.gone.addEventListener('abort', leave)
  until?.addEventListener('abort', leave)
  if (exchange.gone.aborted || until?.aborted) leave()
  const stream = exchange.stream(response.status, headers)
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      stream.write(next.value)
      await stream.drained()
    }
  } finally {
    stream.end()
    until?.removeEventListener('abort', leave)
  }
}
