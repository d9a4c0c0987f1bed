import { isObject, type Json, type JsonObject } from '../lib/json.ts'

/** A base64-encoded image of a type that models support. */
export interface Picture {
  readonly media_type: string
  readonly data: string
}

/**
 * The key under which a journal stores the output of a call together with its images. Unlikely to occur in the output of a
 * tool by chance.
 */
const key = 'quartermaster/told'

export const withPictures = (output: Json, pictures: readonly Picture[]): Json =>
  pictures.length === 0 ? output : { [key]: { output, pictures: pictures as unknown as Json } }

const kept = (output: Json): JsonObject | undefined => {
  const stored = isObject(output) && Object.keys(output).length === 1 ? output[key] : undefined
  return isObject(stored) && Array.isArray(stored.pictures) ? stored : undefined
}

/** The output of a call without its images. */
export const outputIn = (output: Json): Json => {
  const stored = kept(output)
  return stored ? (stored.output ?? null) : output
}

/** The images of an output. Slow, because there may be megabytes of them. */
export const picturesIn = (output: Json): Picture[] => ((kept(output)?.pictures ?? []) as Json[]).flatMap(readAgain)

/** Validates the image again, because a tool or a caller may have forged the format. */
const readAgain = (one: unknown): Picture[] => {
  const picture = isObject(one) ? pictureIn({ type: 'image', data: one.data as Json }) : undefined
  return picture ? [picture] : []
}

/** Small enough that every provider accepts it and that a journal can store several. */
export const maxCharacters = 1_500_000

/** Detects the type by the first bytes. If a server declares a wrong type, a provider rejects the whole conversation. */
const types: readonly (readonly [start: RegExp, type: string])[] = [
  [/^\x89PNG\r\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
]

/** The image in a content part of an MCP result; undefined if the part is not an image or is too large. */
export function pictureIn({ type, data }: JsonObject): Picture | undefined {
  if (type !== 'image' || typeof data !== 'string' || data.length > maxCharacters) return undefined
  const beginning = Buffer.from(data.slice(0, 16), 'base64').toString('latin1')
  const media_type = types.find(([start]) => start.test(beginning))?.[1]
  return media_type && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data) ? { media_type, data } : undefined
}
