/** The message so far. Text arrives in pieces, and is read by position, so that nothing is copied or read again when it grows. */
export class Source {
  #codes = new Uint16Array(1024)
  #length = 0
  /** No more text arrives. */
  ended = false

  get length(): number {
    return this.#length
  }

  append(text: string): void {
    const length = this.#length + text.length
    if (length > this.#codes.length) {
      const larger = new Uint16Array(Math.max(length, this.#codes.length * 2))
      larger.set(this.#codes)
      this.#codes = larger
    }
    for (let i = 0; i < text.length; i++) this.#codes[this.#length + i] = text.charCodeAt(i)
    this.#length = length
  }

  /** The UTF-16 unit at a position, or -1 past the end. */
  at(position: number): number {
    return position < this.#length ? (this.#codes[position] ?? -1) : -1
  }

  slice(from: number, to: number): string {
    let text = ''
    for (let start = from; start < to; start += block) {
      text += String.fromCharCode(...this.#codes.subarray(start, Math.min(to, start + block)))
    }
    return text
  }

  /** The first position of a text within what has arrived, or -1. */
  indexOf(text: string, from: number): number {
    const first = text.charCodeAt(0)
    const known = this.#codes.subarray(0, this.#length)
    for (let found = known.indexOf(first, from); found !== -1; found = known.indexOf(first, found + 1)) {
      if (this.compare(text, found) === 'equal') return found
    }
    return -1
  }

  /** Whether a UTF-16 unit occurs in a range. */
  has(code: number, from: number, to: number): boolean {
    return this.#codes.subarray(from, to).includes(code)
  }

  /** Whether a text stands at a position. `unknown` if it begins there and the rest has not arrived. */
  compare(text: string, position: number): 'equal' | 'different' | 'unknown' {
    for (let i = 0; i < text.length; i++) {
      if (position + i >= this.#length) return this.ended ? 'different' : 'unknown'
      if (this.#codes[position + i] !== text.charCodeAt(i)) return 'different'
    }
    return 'equal'
  }
}

/** `String.fromCharCode` takes its input as arguments, whose number is limited. */
const block = 8192
