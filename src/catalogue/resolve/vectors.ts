import { highest } from './postings.ts'
import type { View } from './view.ts'

/** What a text means, as a direction, in whole numbers: the loss is too small to measure and it is a quarter of the size. */
export type Vector = Int8Array

/** The same scale for every vector, so that a product of two is their cosine but for a constant. */
const scaleOf = (size: number) => (127 * Math.sqrt(size)) / 6

export function quantized(numbers: ArrayLike<number>): Vector {
  let square = 0
  for (let at = 0; at < numbers.length; at++) square += (numbers[at] as number) ** 2
  const scale = scaleOf(numbers.length) / (Math.sqrt(square) || 1)
  return Int8Array.from({ length: numbers.length }, (_, at) =>
    Math.max(-127, Math.min(127, Math.round((numbers[at] as number) * scale))),
  )
}

/** So few are compared one by one. */
const few = 4000
/** How many of many are compared one by one, after a rough look at all. */
const looked = 500

/** The vectors of actions by their numbers: one of the action in a few words, one of all that is said of it. */
export class Vectors {
  readonly size: number
  #short: Int8Array
  #whole: Int8Array
  /** One bit for each number's sign: enough for a rough look. */
  #signs: Int32Array
  #known: Uint8Array
  count = 0

  constructor(size: number) {
    this.size = size
    this.#short = new Int8Array(0)
    this.#whole = new Int8Array(0)
    this.#signs = new Int32Array(0)
    this.#known = new Uint8Array(0)
  }

  has(id: number): boolean {
    return this.#known[id] === 1
  }

  set(id: number, short: Vector, whole: Vector): void {
    if (id >= this.#known.length) this.#grow(Math.max(id + 1, this.#known.length * 2, 1024))
    this.#short.set(short, id * this.size)
    this.#whole.set(whole, id * this.size)
    this.#signs.set(signsOf(whole), id * this.#words)
    if (this.#known[id] === 0) this.count++
    this.#known[id] = 1
  }

  /** The cosines of a vector and those of an action. */
  compare(vector: Vector, id: number): { short: number; whole: number } {
    return { short: this.#cosine(vector, this.#short, id), whole: this.#cosine(vector, this.#whole, id) }
  }

  nearest(vector: Vector, view: View, count: number): Uint32Array {
    const { ids } = view
    const close = ids.length <= few ? ids : highest(ids, this.#agreements(vector, ids), looked)
    const cosines = new Float32Array(view.mask.length)
    for (const id of close) {
      if (this.has(id)) cosines[id] = this.#cosine(vector, this.#whole, id)
    }
    return highest(close, cosines, count)
  }

  /** How many signs are alike, above what chance gives. */
  #agreements(vector: Vector, ids: Uint32Array): Float32Array {
    const signs = signsOf(vector)
    const words = this.#words
    const known = this.#known
    const all = this.#signs
    const agreements = new Float32Array(this.#known.length)
    for (const id of ids) {
      if (known[id] !== 1) continue
      let differing = 0
      for (let word = 0, at = id * words; word < words; word++, at++) {
        let bits = (signs[word] as number) ^ (all[at] as number)
        bits -= (bits >>> 1) & 0x55555555
        bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
        differing += Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
      }
      agreements[id] = Math.max(0, this.size - 2 * differing)
    }
    return agreements
  }

  #cosine(vector: Vector, all: Int8Array, id: number): number {
    return product(vector, all, id * this.size) / scaleOf(this.size) ** 2
  }

  get #words(): number {
    return Math.ceil(this.size / 32)
  }

  #grow(length: number): void {
    const copy = <T extends Int8Array | Int32Array | Uint8Array>(made: T, old: T): T => {
      made.set(old)
      return made
    }
    this.#short = copy(new Int8Array(length * this.size), this.#short)
    this.#whole = copy(new Int8Array(length * this.size), this.#whole)
    this.#signs = copy(new Int32Array(length * this.#words), this.#signs)
    this.#known = copy(new Uint8Array(length), this.#known)
  }
}

function product(vector: Vector, all: Int8Array, start: number): number {
  let sum = 0
  for (let at = 0, there = start; at < vector.length; at++, there++) {
    sum += Math.imul(vector[at] as number, all[there] as number)
  }
  return sum
}

function signsOf(vector: Vector): Int32Array {
  const signs = new Int32Array(Math.ceil(vector.length / 32))
  for (let at = 0; at < vector.length; at++) {
    if ((vector[at] as number) > 0) signs[at >> 5] = (signs[at >> 5] as number) | (1 << (at & 31))
  }
  return signs
}
