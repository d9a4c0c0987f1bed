import { highest } from './postings.ts'
import type { Scope } from './scope.ts'

/** An embedding, quantized to 8 bits: a quarter of the size, and the loss is too small to measure. */
export type Vector = Int8Array

/** The same scale for all vectors, so that a dot product is the cosine times a constant. */
const scaleOf = (size: number) => (127 * Math.sqrt(size)) / 6

export function quantized(numbers: ArrayLike<number>): Vector {
  let square = 0
  for (let at = 0; at < numbers.length; at++) square += (numbers[at] as number) ** 2
  const scale = scaleOf(numbers.length) / (Math.sqrt(square) || 1)
  return Int8Array.from({ length: numbers.length }, (_, at) =>
    Math.max(-127, Math.min(127, Math.round((numbers[at] as number) * scale))),
  )
}

/** Up to this many vectors are compared exactly. */
const few = 4000
/** Of more, this many are compared exactly, preselected by their signs. */
const looked = 500

/** 2^blockBits actions share a block. No vector is ever moved, and no block is large. */
const blockBits = 11
const blockMask = (1 << blockBits) - 1

interface Block {
  readonly short: Int8Array
  readonly whole: Int8Array
  /** The sign bit of each component, for the preselection. */
  readonly signs: Int32Array
  readonly known: Uint8Array
}

/** The vectors of actions, by action number: one of the short text, one of the full text. */
export class Vectors {
  readonly size: number
  /** Whether they are from the model that the weights of the ranking are fitted to. */
  readonly isFitted: boolean
  readonly #words: number
  readonly #blocks: Block[] = []

  constructor(size: number, isFitted = true) {
    this.size = size
    this.isFitted = isFitted
    this.#words = Math.ceil(size / 32)
  }

  has(id: number): boolean {
    return this.#blocks[id >> blockBits]?.known[id & blockMask] === 1
  }

  set(id: number, short: Vector, whole: Vector): void {
    const { short: shorts, whole: wholes, signs, known } = this.#blockOf(id)
    const place = id & blockMask
    shorts.set(short, place * this.size)
    wholes.set(whole, place * this.size)
    signs.set(signsOf(whole), place * this.#words)
    known[place] = 1
  }

  /** Cosine similarities of a vector with those of an action. */
  compare(vector: Vector, id: number): { short: number; whole: number } {
    const { short, whole } = this.#blockOf(id)
    const start = (id & blockMask) * this.size
    const scale = scaleOf(this.size) ** 2
    return { short: product(vector, short, start) / scale, whole: product(vector, whole, start) / scale }
  }

  nearest(vector: Vector, scope: Scope, count: number): Uint32Array {
    const { ids } = scope
    const close = ids.length <= few ? ids : highest(ids, this.#agreements(vector, scope), looked)
    const products = new Float32Array(scope.mask.length)
    for (const id of close) {
      if (this.has(id)) products[id] = product(vector, this.#blockOf(id).whole, (id & blockMask) * this.size)
    }
    return highest(close, products, count)
  }

  /** The number of equal signs, above what chance gives. */
  #agreements(vector: Vector, { ids, mask }: Scope): Float32Array {
    const signs = signsOf(vector)
    const agreements = new Float32Array(mask.length)
    for (let at = 0; at < ids.length; at++) {
      const id = ids[at] as number
      const block = this.#blocks[id >> blockBits]
      const place = id & blockMask
      if (block === undefined || block.known[place] !== 1) continue
      agreements[id] = this.size - 2 * differences(signs, block.signs, place * this.#words)
    }
    return agreements
  }

  #blockOf(id: number): Block {
    const at = id >> blockBits
    let block = this.#blocks[at]
    if (!block) {
      const length = 1 << blockBits
      block = {
        short: new Int8Array(length * this.size),
        whole: new Int8Array(length * this.size),
        signs: new Int32Array(length * this.#words),
        known: new Uint8Array(length),
      }
      this.#blocks[at] = block
    }
    return block
  }
}

function differences(signs: Int32Array, all: Int32Array, start: number): number {
  let differing = 0
  for (let word = 0, there = start; word < signs.length; word++, there++) {
    let bits = (signs[word] as number) ^ (all[there] as number)
    bits -= (bits >>> 1) & 0x55555555
    bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
    differing += Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return differing
}

/** Unrolled by four: a search spends most of its time here. */
function product(vector: Vector, all: Int8Array, start: number): number {
  const { length } = vector
  const even = length - (length % 4)
  let sum = 0
  let at = 0
  for (let there = start; at < even; at += 4, there += 4) {
    sum +=
      Math.imul(vector[at] as number, all[there] as number) +
      Math.imul(vector[at + 1] as number, all[there + 1] as number) +
      Math.imul(vector[at + 2] as number, all[there + 2] as number) +
      Math.imul(vector[at + 3] as number, all[there + 3] as number)
  }
  for (; at < length; at++) sum += Math.imul(vector[at] as number, all[start + at] as number)
  return sum
}

function signsOf(vector: Vector): Int32Array {
  const signs = new Int32Array(Math.ceil(vector.length / 32))
  for (let at = 0; at < vector.length; at++) {
    if ((vector[at] as number) > 0) signs[at >> 5] = (signs[at >> 5] as number) | (1 << (at & 31))
  }
  return signs
}
