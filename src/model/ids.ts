import { randomFillSync } from 'node:crypto'

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz'
const pool = Buffer.alloc(4096)
let used = pool.length

/** Random characters from a pool of random bytes, because a system call per id would be most of its cost. */
function random(length: number, letters = alphabet): string {
  // Skips bytes at or above the largest multiple of the alphabet size, which would make the first letters more likely.
  const limit = 256 - (256 % letters.length)
  let text = ''
  while (text.length < length) {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    const byte = pool[used++] as number
    if (byte < limit) text += letters[byte % letters.length]
  }
  return text
}

let lastTime = 0
let count = 0

/** Counts the ids of the same millisecond, so that these also sort by creation. */
function place(now: number): string {
  count = now === lastTime ? count + 1 : 0
  lastTime = now
  return Math.min(count, 36 ** 3 - 1)
    .toString(36)
    .padStart(3, '0')
}

/** `tool_mh1k2x9c4f…`: the time in base 36, a count, then 51 random bits, so that ids sort by creation. */
export const newId = (prefix: string, now = Date.now()): string =>
  `${prefix}_${now.toString(36).padStart(9, '0')}${place(now)}${random(10)}`

/** Whether a text has the format of a generated id. Some records have other ids, such as `key_first`. */
export const isGeneratedId = (text: string): boolean => /^[a-z]+(?:_[a-z]+)*_[0-9a-z]{22}$/.test(text)

/** The smallest id that could have been generated at that time. */
export const firstIdAt = (prefix: string, time: number): string => `${prefix}_${time.toString(36).padStart(9, '0')}`

const secretAlphabet = `${alphabet}ABCDEFGHIJKLMNOPQRSTUVWXYZ`

/** The value of a new API key: `sk_` and 238 random bits. */
export const newSecretKey = (): string => `sk_${random(40, secretAlphabet)}`
