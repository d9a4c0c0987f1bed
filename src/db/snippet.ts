/** Snippets are taken from this many characters at the beginning of a document. */
export const longestBeginning = 20_000
const around = 80

/**
 * Returns the first match of one of the words, in bold, with the surrounding text. Without a match, returns the beginning.
 * Compares only the beginnings of words, because a search for "policy" also finds "policies".
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
