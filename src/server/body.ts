import { excessOf, isObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import type { Exchange } from './exchange.ts'

/** The body as JSON, undefined if there is none. The error says what is wrong with it without repeating what was sent. */
export async function readJson(exchange: Exchange, limit: number): Promise<unknown> {
  const text = textOf(await exchange.read(limit))
  if (text === '' || text.trim() === '') return undefined
  const type = exchange.headers['content-type'] ?? ''
  if (!isJson.test(type)) {
    throw new PlatformError('UNSUPPORTED_MEDIA_TYPE', { content_type: type, expected: 'application/json' })
  }
  return parseJson(text)
}

const isJson = /^application\/(json|[\w.+-]+\+json)\s*(;|$)/i

/** Without the byte order mark that some programs put before a text. */
export const textOf = (bytes: Buffer): string =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.toString('utf8', 3) : bytes.toString()

function parseJson(text: string): unknown {
  const excess = excessOf(text)
  if (excess !== undefined) throw new PlatformError('INVALID_JSON', { reason: `it ${excess}` })
  try {
    return JSON.parse(text)
  } catch (error) {
    const [where] = /position \d+/.exec((error as Error).message) ?? []
    throw new PlatformError('INVALID_JSON', { reason: where ? `it goes wrong at ${where}` : 'it breaks off' })
  }
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
