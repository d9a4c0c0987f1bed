import { isObject, type Json, type JsonObject } from '../lib/json.ts'

/** A picture in base64, of a type that models look at. */
export interface Picture {
  readonly media_type: string
  readonly data: string
}

/**
 * Under which a journal keeps what a call gave in words together with what of it a model can look at. Nothing that a tool
 * answers has it by chance.
 */
const key = 'quartermaster/told'

export const withPictures = (output: Json, pictures: readonly Picture[]): Json =>
  pictures.length === 0 ? output : { [key]: { output, pictures: pictures as unknown as Json } }

const kept = (output: Json): JsonObject | undefined => {
  const told = isObject(output) && Object.keys(output).length === 1 ? output[key] : undefined
  return isObject(told) && Array.isArray(told.pictures) ? (told as JsonObject) : undefined
}

/** What a call gave, in words. */
export const outputIn = (output: Json): Json => {
  const told = kept(output)
  return told ? (told.output ?? null) : output
}

/** What of it a model can look at. Takes its time, for there may be megabytes of it. */
export const picturesIn = (output: Json): Picture[] => ((kept(output)?.pictures ?? []) as Json[]).flatMap(readAgain)

/** Looked at again, as a tool or a caller may have made up something that looks like it. */
const readAgain = (one: unknown): Picture[] => {
  const picture = isObject(one) ? pictureIn({ type: 'image', data: one.data as Json }) : undefined
  return picture ? [picture] : []
}

/** So large that every provider takes it, and a journal can hold some. */
export const mostCharacters = 1_500_000

/** By its first bytes: what a server says of it may be wrong, and then a provider refuses the whole conversation. */
const types: readonly (readonly [start: RegExp, type: string])[] = [
  [/^\x89PNG\r\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
]

/** The picture in a part of an MCP result; nothing where it is too large, or none. */
export function pictureIn({ type, data }: JsonObject): Picture | undefined {
  if (type !== 'image' || typeof data !== 'string' || data.length > mostCharacters) return undefined
  const beginning = Buffer.from(data.slice(0, 16), 'base64').toString('latin1')
  const media_type = types.find(([start]) => start.test(beginning))?.[1]
  return media_type && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data) ? { media_type, data } : undefined
}
