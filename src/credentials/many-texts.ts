/**
 * Searches for many texts in one pass (Rabin–Karp). A rolling hash, with a window as long as the shortest text, moves over
 * the input. The texts are compared only where the hash matches. Separate searches would take one pass per text.
 */
export class ManyTexts {
  readonly #window: number
  readonly #byHash = new Map<number, string[]>()
  /** Whether the hash of any text has these 16 low bits. Rules out most positions quickly. */
  readonly #low = new Uint8Array(1 << 16)

  /** Pass the longest texts first: if several match at one position, the first one wins. */
  constructor(texts: readonly string[]) {
    this.#window = Math.min(...texts.map(({ length }) => length))
    for (const text of texts) {
      const hash = this.#hashOf(text)
      this.#byHash.set(hash, [...(this.#byHash.get(hash) ?? []), text])
      this.#low[hash & 0xffff] = 1
    }
  }

  replaceAll(text: string, replacement: string): string {
    const window = this.#window
    if (text.length < window) return text
    const parts: string[] = []
    let from = 0
    let highest = 1
    for (let index = 1; index < window; index++) highest = Math.imul(highest, base)
    let hash = this.#hashOf(text)
    for (let start = 0; ; start++) {
      const found = start < from || this.#low[hash & 0xffff] === 0 ? undefined : this.#at(text, start, hash)
      if (found !== undefined) {
        parts.push(text.slice(from, start), replacement)
        from = start + found.length
      }
      if (start + window >= text.length) break
      hash = (hash - Math.imul(text.charCodeAt(start), highest)) | 0
      hash = (Math.imul(hash, base) + text.charCodeAt(start + window)) | 0
    }
    return from === 0 ? text : parts.join('') + text.slice(from)
  }

  #at(text: string, start: number, hash: number): string | undefined {
    return this.#byHash.get(hash)?.find((one) => text.startsWith(one, start))
  }

  #hashOf(text: string): number {
    let hash = 0
    for (let index = 0; index < this.#window; index++) hash = (Math.imul(hash, base) + text.charCodeAt(index)) | 0
    return hash
  }
}

const base = 1_000_003
