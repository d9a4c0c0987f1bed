import { excessOf, isObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import type { Exchange } from './exchange.ts'

/** Parses the body as JSON; undefined if it is empty. Errors never quote the body. */
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

/** Strips a byte order mark. */
export const textOf = (bytes: Buffer): string =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.toString('utf8', 3) : bytes.toString()

function parseJson(text: string): unknown {
  const excess = excessOf(text)
  if (excess !== undefined) throw new PlatformError('INVALID_JSON', { reason: `it ${excess}` })
  try {
    return JSON.parse(text)
  } catch (error) {
    const [where] = /position \d+/.exec((error as Error).message) ?? []
    throw new PlatformError('INVALID_JSON', { reason: where ? `syntax error at ${where}` : 'unexpected end of input' })
  }
}

/** The fields of a body. Parameters that are in the path must not be repeated. */
export function fieldsOf(body: unknown, inPath: readonly string[]): Record<string, unknown> {
  const wrong = (path: string, message: string) =>
    new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })
  if (body === undefined) return {}
  if (!isObject(body)) throw wrong('', 'the body must be a JSON object')
  const twice = inPath.find((field) => Object.hasOwn(body, field))
  if (twice !== undefined) throw wrong(twice, 'belongs in the path, not in the body')
  return body
}
