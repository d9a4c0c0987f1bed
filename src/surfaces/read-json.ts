import { PlatformError } from '../model/errors.ts'
import { excessOf, isObject } from '../model/json.ts'

/** The body as JSON, or an error that tells what is wrong with it without repeating what was sent. */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  const text = await readText(request, limit)
  if (text.trim() === '') return undefined
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/(json|[\w.+-]+\+json)\s*(;|$)/i.test(type)) {
    throw new PlatformError('UNSUPPORTED_MEDIA_TYPE', { content_type: type, expected: 'application/json' })
  }
  return parseJson(text)
}

/** As `Request.text` reads them: without the mark that some programs put before a text. */
export const textOf = (bytes: Buffer): string =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.toString('utf8', 3) : bytes.toString()

/** Undefined where there is no text. */
export function parseJson(text: string): unknown {
  if (text === '') return undefined
  const excess = excessOf(text)
  if (excess !== undefined) throw new PlatformError('INVALID_JSON', { reason: `it ${excess}` })
  try {
    return JSON.parse(text)
  } catch (error) {
    if (text.trim() === '') return undefined
    const [where = 'it breaks off'] = /position \d+/.exec((error as Error).message) ?? []
    throw new PlatformError('INVALID_JSON', {
      reason: where.startsWith('position') ? `it goes wrong at ${where}` : where,
    })
  }
}

async function readText(request: Request, limit: number): Promise<string> {
  const length = request.headers.get('content-length')
  if (length !== null && Number(length) > limit) throw new PlatformError('BODY_TOO_LARGE', { limit })
  if (length !== null) return request.text().catch(brokenOff)
  const parts: Uint8Array[] = []
  for await (const part of cut(request.body, limit)) parts.push(part)
  return textOf(Buffer.concat(parts))
}

/** The stream, up to a number of bytes. */
export async function* cut(body: ReadableStream<Uint8Array> | null, limit: number): AsyncGenerator<Uint8Array> {
  let size = 0
  const parts = (body ?? ReadableStream.from([]))[Symbol.asyncIterator]()
  try {
    // What fails here is the caller's sending, and nothing of what is done with it.
    for (let next = await parts.next().catch(brokenOff); !next.done; next = await parts.next().catch(brokenOff)) {
      size += next.value.byteLength
      if (size > limit) throw new PlatformError('BODY_TOO_LARGE', { limit })
      yield next.value
    }
  } finally {
    await parts.return?.().catch(() => {})
  }
}

function brokenOff(cause: unknown): never {
  throw new PlatformError('BODY_INCOMPLETE', {}, { cause })
}

/** The fields of a body. What the path names is not named again in it. */
export function fieldsOf(body: unknown, inPath: readonly string[]): Record<string, unknown> {
  const wrong = (path: string, message: string) =>
    new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })
  if (body === undefined) return {}
  if (!isObject(body)) throw wrong('', 'the body must be a JSON object')
  const twice = inPath.find((field) => Object.hasOwn(body, field))
  if (twice !== undefined) throw wrong(twice, 'is named by the path, not in the body')
  return body
}
