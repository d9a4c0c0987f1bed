import { RE2JS } from 're2js'

/** Tests text against a pattern in linear time. */
export interface Matcher {
  test(text: string): boolean
  /** The maximum cost per character of the text, in units of `Meter`. */
  readonly cost: number
}

/** A pattern that cannot be matched in linear time, or is too large. */
export class UnsupportedPattern extends Error {
  readonly pattern: string

  constructor(pattern: string, reason: string) {
    super(reason)
    this.pattern = pattern
  }
}

const longest = 2000
/** The maximum number of RE2 instructions of a pattern, with its repetitions expanded. */
const largest = 4000

/**
 * Compiles an ECMAScript pattern with the `u` flag, as JSON Schema specifies. V8 backtracks and can run practically forever,
 * so it only runs patterns for which that is impossible. Other patterns are translated to RE2, which reads the text once.
 */
export function matcherOf(pattern: string): Matcher {
  const native = new RegExp(pattern, 'u')
  if (pattern.length > longest) throw new UnsupportedPattern(pattern, `is longer than ${longest} characters`)
  const { re2, effort, size } = new Reader(pattern).read()
  if (effort !== undefined) return { test: (text) => native.test(text), cost: effort }
  if (re2 === undefined) {
    throw new UnsupportedPattern(pattern, 'uses look-around or back-references in a way that could run forever')
  }
  // Checked before compiling, because compiling a large pattern takes long.
  if (size > largest) throw tooLarge(pattern)
  return compileRe2(pattern, re2)
}

const tooLarge = (pattern: string) => new UnsupportedPattern(pattern, 'is too large once its repetitions are expanded')

function compileRe2(pattern: string, re2: string): Matcher {
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(re2)
  } catch {
    throw new UnsupportedPattern(pattern, 'uses a feature that cannot be matched in linear time, or repeats too often')
  }
  const instructions = compiled.programSize()
  if (instructions > largest) throw tooLarge(pattern)
  // In the worst case, a text that activates all states at once, an instruction takes 150 ns (measured).
  return { test: (text) => compiled.test(text), cost: 3 * instructions }
}

/**
 * A part of a pattern.
 * - `ways`: the number of ways it can match at one position, apart from unbounded repetitions.
 * - `open`: the power of n by which unbounded repetitions multiply that for a text of n characters.
 * - `work`: the power of n in its running time.
 * - `length`: the number of characters it looks at, apart from unbounded repetitions.
 * - `size`: the approximate number of RE2 instructions, with repetitions expanded.
 */
interface Part {
  readonly re2: string | undefined
  readonly ways: number
  readonly open: number
  readonly work: number
  readonly length: number
  readonly size: number
}

const one = (re2: string | undefined, length = 1): Part => ({ re2, ways: 1, open: 0, work: 0, length, size: 1 })

/** A repetition whose bounds differ by more than this is treated as unbounded. */
const narrow = 20
const maxEffort = 64

/** Parses a pattern that V8 has accepted, so its syntax is valid. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): { re2: string | undefined; effort: number | undefined; size: number } {
    const whole = this.#choice()
    const anchored = this.#text.startsWith('^') && !this.#splits
    // All ways are tried at one position if anchored, otherwise at every position where a match could begin or end.
    const once = anchored && whole.work === 0
    const effort = whole.ways * (once ? 1 : Math.max(1, whole.length))
    const safe = effort <= maxEffort && whole.work <= (anchored ? 1 : 0)
    return { re2: whole.re2, effort: safe ? effort : undefined, size: whole.size }
  }

  /** Whether there are alternatives outside all groups. A leading `^` then applies only to the first one. */
  #splits = false
  #depth = 0

  #choice(): Part {
    const parts = [this.#sequence()]
    while (this.#take('|')) {
      if (this.#depth === 0) this.#splits = true
      parts.push(this.#sequence())
    }
    if (parts.length === 1) return parts[0] as Part
    return {
      re2: joined(parts, '|'),
      ways: sum(parts.map(({ ways }) => ways)),
      open: Math.max(...parts.map(({ open }) => open)),
      work: Math.max(...parts.map(({ work }) => work)),
      length: Math.max(...parts.map(({ length }) => length)),
      size: sum(parts.map(({ size }) => size)),
    }
  }

  #sequence(): Part {
    const parts: Part[] = []
    while (this.#at < this.#text.length && !')|'.includes(this.#text[this.#at] as string)) {
      parts.push(this.#repeated(this.#atom()))
    }
    let open = 0
    let work = 0
    for (const part of parts) {
      work = Math.max(work, open + part.work)
      open += part.open
    }
    const ways = parts.reduce((product, part) => product * part.ways, 1)
    const length = sum(parts.map((part) => part.length))
    return { re2: joined(parts, ''), ways, open, work, length, size: sum(parts.map((part) => part.size)) }
  }

  #repeated(part: Part): Part {
    const quantifier = this.#match(/(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/y)
    if (!quantifier) return part
    const [written, from, comma, to] = quantifier
    const sign = written.replace(/(?<=.)\?$/, '')
    const least = sign === '+' ? 1 : Number(from ?? 0)
    const most = sign === '?' ? 1 : from === undefined ? Infinity : comma === '' ? least : Number(to || Infinity)
    const re2 = part.re2 === undefined ? undefined : `(?:${part.re2})${sign}`
    const varies = most - least
    const length = part.length * (varies > narrow ? least + 1 : most)
    const size = part.size * Math.max(1, most === Infinity ? least : most)
    if (varies > narrow) {
      // Unbounded repetition of a part that can match in several ways takes exponential time.
      const simple = part.ways === 1 && part.work === 0
      return { re2, ways: 1, ...(simple ? { open: 1, work: 1 } : { open: 9, work: 9 }), length, size }
    }
    const ways = part.ways ** Math.min(most, 64) * (varies + 1)
    // Repeating a part that contains an unbounded repetition or a look-ahead multiplies its work.
    const again = most > 1 && part.work > 0 ? 9 : 0
    return { re2, ways, open: part.open + again, work: part.work + again, length, size }
  }

  #atom(): Part {
    const character = String.fromCodePoint(this.#text.codePointAt(this.#at) as number)
    this.#at += character.length
    switch (character) {
      case '^':
        return one('\\A', 0)
      case '$':
        return one('\\z', 0)
      case '.':
        return one('[^\\n\\r\\x{2028}\\x{2029}]')
      case '(':
        return this.#group()
      case '[':
        return one(this.#set())
      case '\\':
        return this.#escape()
      default:
        return one(hex(character))
    }
  }

  #group(): Part {
    const [start] = this.#match(/\?(?:<?[=!]|:|<[^>]+>|[-a-z]+:)|/y) as RegExpExecArray
    this.#depth++
    const body = this.#choice()
    this.#depth--
    this.#take(')')
    // V8 does not backtrack into look-around assertions, so nothing stays open.
    if (/[=!]$/.test(start)) return { ...body, re2: undefined, open: 0, length: 0 }
    if (/^\?[-a-z]/.test(start)) return { ...body, re2: undefined, work: 9 }
    return { ...body, re2: body.re2 === undefined ? undefined : `(?:${body.re2})` }
  }

  #escape(): Part {
    const assertion = this.#match(/[bB]/y)
    if (assertion) return one(`\\${assertion[0]}`, 0)
    if (this.#match(/[1-9]\d*|k<[^>]+>/y)) return { ...one(undefined), work: 9 }
    return one(`[${this.#escaped()}]`)
  }

  /** Parses a character class, after its opening bracket. */
  #set(): string {
    const negated = this.#take('^')
    let inside = ''
    while (!this.#take(']')) {
      if (this.#take('\\')) inside += this.#escaped()
      else {
        const character = String.fromCodePoint(this.#text.codePointAt(this.#at) as number)
        this.#at += character.length
        // A dash between two characters is a range. V8 has rejected it anywhere else except at both ends.
        inside += character === '-' && inside !== '' && this.#text[this.#at] !== ']' ? '-' : hex(character)
      }
    }
    if (inside === '') return negated ? '[\\x00-\\x{10FFFF}]' : '[^\\x00-\\x{10FFFF}]'
    return `[${negated ? '^' : ''}${inside}]`
  }

  /** Translates an escape sequence to RE2, in a form that is valid within a character class. */
  #escaped(): string {
    const category = this.#match(/([pP])\{(?:(?:gc|General_Category|sc|Script)=)?(\w+)\}/y)
    if (category) return `\\${category[1]}{${longNames[category[2] as string] ?? category[2]}}`
    const pair = this.#match(/u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})/iy)
    if (pair) return hex(String.fromCharCode(Number(`0x${pair[1]}`), Number(`0x${pair[2]}`)))
    const number = this.#match(/u\{([0-9a-f]+)\}|u([0-9a-f]{4})|x([0-9a-f]{2})/iy)
    if (number) return `\\x{${Number.parseInt(number[1] ?? number[2] ?? (number[3] as string), 16).toString(16)}}`
    const control = this.#match(/c([a-z])/iy)
    if (control) return hex(String.fromCharCode((control[1] as string).charCodeAt(0) % 32))
    const character = this.#text[this.#at++] as string
    if (character === 's') return spaces
    if (character === 'S') return notSpaces
    if ('dDwW'.includes(character)) return `\\${character}`
    return hex(simple[character] ?? character)
  }

  #take(character: string): boolean {
    const there = this.#text[this.#at] === character
    if (there) this.#at++
    return there
  }

  #match(sticky: RegExp): RegExpExecArray | null {
    sticky.lastIndex = this.#at
    const match = sticky.exec(this.#text)
    if (match) this.#at += match[0].length
    return match
  }
}

const simple: Record<string, string> = { t: '\t', n: '\n', v: '\v', f: '\f', r: '\r', 0: '\0', b: '\b' }

const longNames: Record<string, string> = {
  ...{ Letter: 'L', Lowercase_Letter: 'Ll', Uppercase_Letter: 'Lu', Mark: 'M', Number: 'N', Decimal_Number: 'Nd' },
  ...{ Punctuation: 'P', Symbol: 'S', Separator: 'Z', Other: 'C' },
}

const spaces = '\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const notSpaces =
  '\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}' +
  '\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'

const hex = (character: string) => `\\x{${(character.codePointAt(0) as number).toString(16)}}`
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
const joined = (parts: readonly Part[], between: string) =>
  parts.every(({ re2 }) => re2 !== undefined) ? parts.map(({ re2 }) => re2).join(between) : undefined
