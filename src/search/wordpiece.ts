/** What a model of the BERT family reads: numbers of pieces of words, between a mark for the beginning and one for the end. */
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

  /** The longest known piece, then the longest that continues it, and so on; a word with an unknown rest is unknown. */
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

/** Words without accents in lower case; every mark and every Chinese or Japanese character is a word of its own. */
const wordsOf = (text: string): string[] =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Mn}+/gu, '')
    .toLowerCase()
    .match(/[\p{Script=Han}]|[^\s\p{P}\p{S}\p{C}\p{Script=Han}]{1,100}|[\p{P}\p{S}]/gu) ?? []
