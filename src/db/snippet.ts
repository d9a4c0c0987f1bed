/** Characters of a document that a snippet is looked for in. */
export const longestBeginning = 20_000
const around = 80

/**
 * The first place of a text that has one of the words, in bold, with what stands around it; the beginning where none is
 * found. Words are compared by how they begin, because a search finds "policies" by "policy".
 */
export function snippetOf(text: string, words: readonly string[]): string {
  const starts = words.flatMap((word) => word.match(/[\p{L}\p{N}]+/gu) ?? []).map(stemOf)
  const wanted = new RegExp(`(?<![\\p{L}\\p{N}])(?:${starts.join('|')})[\\p{L}\\p{N}]*`, 'giu')
  const at = starts.length > 0 ? text.search(wanted) : -1
  const from = Math.max(0, at - around)
  const to = Math.max(0, at) + 2 * around
  const part = text.slice(from, to).toWellFormed()
  const whole = starts.length > 0 ? part.replaceAll(wanted, '**$&**') : part
  return `${from > 0 ? '…' : ''}${whole}${to < text.length ? '…' : ''}`
}

const stemOf = (word: string): string => word.slice(0, Math.max(3, word.length - 3))
