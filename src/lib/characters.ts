/** Counts characters (code points), as people and databases do: a surrogate pair is one. */
export function countCharacters(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) if (isPair(text, at)) count--
  return count
}

/** The first characters (code points) of a text; the text itself if it has no more. */
export function firstCharacters(text: string, most: number): string {
  if (text.length <= most) return text
  let at = 0
  for (let count = 0; count < most && at < text.length; count++) at += isPair(text, at) ? 2 : 1
  return at < text.length ? text.slice(0, at) : text
}

/** Truncates to a number of UTF-16 units, without splitting a surrogate pair. */
export const wholeSlice = (text: string, units: number): string =>
  text.length <= units ? text : text.slice(0, isPair(text, units - 1) ? units - 1 : units)

/** Truncates to a number of bytes in UTF-8, without splitting a character. */
export function firstBytes(text: string, bytes: number): string {
  if (text.length * 3 <= bytes) return text
  // A character takes at least one byte per UTF-16 unit, so nothing after the first `bytes` units can fit.
  const candidate = text.length > bytes ? text.slice(0, bytes + 1) : text
  return text.slice(0, new TextEncoder().encodeInto(candidate, new Uint8Array(bytes)).read)
}

const isPair = (text: string, at: number): boolean =>
  (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
