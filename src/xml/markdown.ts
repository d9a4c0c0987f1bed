import type { Source } from './source.ts'

/** Yields when it needs more text. */
export type Reading<Result> = Generator<void, Result, void>

export const newline = 0x0a
export const tick = 0x60
export const tilde = 0x7e
const space = 0x20
const tab = 0x09
const carriageReturn = 0x0d

/** Code on several lines, between two lines of backticks or tildes. */
export interface Fence {
  readonly contentStart: number
  readonly contentEnd: number
  readonly end: number
}

interface Line {
  readonly end: number
  /** The last position of each run of backticks, by the run's length. */
  readonly lastRun: ReadonlyMap<number, number>
}

/** The Markdown rules that decide whether text is code: fences, and code spans within a line. */
export class Markdown {
  readonly #source: Source
  #line: Line | undefined

  constructor(source: Source) {
    this.#source = source
  }

  /** Reads the fence whose first line starts with the run at `from`; undefined if it is not one. */
  *fence(from: number): Reading<Fence | undefined> {
    if (!this.#isLineStart(from)) return undefined
    const character = this.#source.at(from)
    const length = yield* this.#runLength(from)
    if (length < 3) return undefined
    const lineEnd = yield* this.lineEnd(from)
    if (character === tick && this.#source.has(tick, from + length, lineEnd)) return undefined
    const contentStart = Math.min(lineEnd + 1, this.#source.length)
    for (let start = contentStart; ; ) {
      const end = yield* this.lineEnd(start)
      const isLast = end >= this.#source.length
      if (this.#closes(start, end, character, length)) {
        return { contentStart, contentEnd: start, end: isLast ? end : end + 1 }
      }
      // A fence that is never closed lasts to the end of the message.
      if (isLast) return { contentStart, contentEnd: end, end }
      start = end + 1
    }
  }

  /** The end of the code span that starts with the run at `from`, and the length of that run. */
  *span(from: number): Reading<{ readonly length: number; readonly end: number | undefined }> {
    const line = yield* this.#lineAt(from)
    const length = yield* this.#runLength(from)
    if ((line.lastRun.get(length) ?? -1) <= from) return { length, end: undefined }
    for (let position = from + length; ; ) {
      while (this.#source.at(position) !== tick) position++
      const run = yield* this.#runLength(position)
      position += run
      if (run === length) return { length, end: position }
    }
  }

  /** The position of the line break, or of the end of the message. */
  *lineEnd(from: number): Reading<number> {
    for (let position = from; ; ) {
      const found = this.#source.indexOf('\n', position)
      if (found !== -1) return found
      position = this.#source.length
      if (this.#source.ended) return position
      yield
    }
  }

  *#lineAt(position: number): Reading<Line> {
    if (this.#line && position < this.#line.end) return this.#line
    const end = yield* this.lineEnd(position)
    const lastRun = new Map<number, number>()
    for (let next = position; next < end; next++) {
      if (this.#source.at(next) !== tick) continue
      const length = yield* this.#runLength(next)
      lastRun.set(length, next)
      next += length
    }
    this.#line = { end, lastRun }
    return this.#line
  }

  *#runLength(from: number): Reading<number> {
    const character = this.#source.at(from)
    let position = from
    for (;;) {
      while (this.#source.at(position) === character) position++
      if (position < this.#source.length || this.#source.ended) return position - from
      yield
    }
  }

  /** At most three spaces stand before it. */
  #isLineStart(position: number): boolean {
    let before = position - 1
    while (before >= position - 3 && this.#source.at(before) === space) before--
    return before < 0 || this.#source.at(before) === newline
  }

  #closes(start: number, end: number, character: number, least: number): boolean {
    let position = start
    while (position < start + 3 && this.#source.at(position) === space) position++
    let length = 0
    while (this.#source.at(position) === character) {
      length++
      position++
    }
    while (isBlank(this.#source.at(position)) && position < end) position++
    return length >= least && position >= end
  }
}

const isBlank = (code: number) => code === space || code === tab || code === carriageReturn
