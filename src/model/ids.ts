import { randomFillSync } from 'node:crypto'

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz'
const bytes = Buffer.alloc(4096)

/** Random characters, made in advance: a system call and a loop per id would be most of its cost. */
class RandomText {
  readonly #letters: string
  #text = ''
  #used = 0

  constructor(letters: string) {
    this.#letters = letters
  }

  take(length: number): string {
    if (this.#used + length > this.#text.length) this.#refill()
    this.#used += length
    return this.#text.slice(this.#used - length, this.#used)
  }

  #refill(): void {
    const letters = this.#letters
    // Skips bytes at or above the largest multiple of the alphabet size, which would make the first letters more likely.
    const limit = 256 - (256 % letters.length)
    const fair = randomFillSync(bytes).filter((byte) => byte < limit)
    this.#text = Buffer.from(fair.map((byte) => letters.charCodeAt(byte % letters.length))).toString('latin1')
    this.#used = 0
    // Secrets are made of these bytes.
    bytes.fill(0)
  }
}

const idText = new RandomText(alphabet)

let lastTime = 0
let lastText = ''
let count = 0

/** The time, and the count of ids in the same millisecond, so that these also sort by creation. */
function place(now: number): string {
  if (now !== lastTime) {
    lastTime = now
    lastText = now.toString(36).padStart(9, '0')
    count = 0
  } else count++
  return (
    lastText +
    Math.min(count, 36 ** 3 - 1)
      .toString(36)
      .padStart(3, '0')
  )
}

/** `tool_mh1k2x9c4f…`: the time in base 36, a count, then 51 random bits, so that ids sort by creation. */
export const newId = (prefix: string, now = Date.now()): string => `${prefix}_${place(now)}${idText.take(10)}`

/** Whether a text has the format of a generated id. Some records have other ids, such as `key_first`. */
export const isGeneratedId = (text: string): boolean => /^[a-z]+(?:_[a-z]+)*_[0-9a-z]{22}$/.test(text)

/** The smallest id that could have been generated at that time. */
export const firstIdAt = (prefix: string, time: number): string => `${prefix}_${time.toString(36).padStart(9, '0')}`

const secretText = new RandomText(`${alphabet}ABCDEFGHIJKLMNOPQRSTUVWXYZ`)

/** The value of a new API key: `sk_` and 238 random bits. */
export const newSecretKey = (): string => `sk_${secretText.take(40)}`
