/** The tokenizer of BERT models: ids of word pieces, between a start and an end token. */
export class WordPiece {
  readonly #vocabulary: ReadonlyMap<string, number>
  readonly #beginning: number
  readonly #end: number
  readonly #unknown: number

  constructor(vocabulary: ReadonlyMap<string, number>) {
    this.#vocabulary = vocabulary
    const special = (name: string) => {
      const id = vocabulary.get(name)
      if (id === undefined) throw new Error(`the vocabulary has no ${name}`)
      return id
    }
    this.#beginning = special('[CLS]')
    this.#end = special('[SEP]')
    this.#unknown = special('[UNK]')
  }

  encode(text: string, longest: number): number[] {
    const ids = [this.#beginning]
    for (const word of wordsOf(text)) {
      if (ids.length >= longest - 1) break
      this.#take(word, ids)
    }
    ids.length = Math.min(ids.length, longest - 1)
    ids.push(this.#end)
    return ids
  }

  /**
   * Greedy: the longest known piece, then the longest continuation, and so on. A word with an unknown remainder is
   * unknown.
   */
  #take(word: string, ids: number[]): void {
    const before = ids.length
    for (let start = 0; start < word.length; ) {
      let end = word.length
      let id: number | undefined
      for (; end > start; end--) {
        const piece = word.slice(start, end)
        id = this.#vocabulary.get(start === 0 ? piece : `##${piece}`)
        if (id !== undefined) break
      }
      if (id === undefined) {
        ids.length = before
        ids.push(this.#unknown)
        return
      }
      ids.push(id)
      start = end
    }
  }
}

/** Lower-case words without accents. Each punctuation mark and each CJK character is a word. */
const wordsOf = (text: string): string[] =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Mn}+/gu, '')
    .toLowerCase()
    .match(/[\p{Script=Han}]|[^\s\p{P}\p{S}\p{C}\p{Script=Han}]{1,100}|[\p{P}\p{S}]/gu) ?? []
