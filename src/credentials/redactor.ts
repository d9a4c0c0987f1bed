import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import type { Output } from '../model/tool.ts'
import { ManyTexts } from './many-texts.ts'

/** What stands for a secret. */
export const hidden = '[redacted]'

/**
 * Shorter values are not looked for: "blue" or "12345" stands in many an answer that has nothing to do with a credential,
 * and taking it out would break the answer without keeping a secret that anyone can guess.
 */
export const shortestSecret = 8

const deepest = 1000
/** Up to so many, looking for each by itself is faster. */
const fewForms = 60

export interface RedactedStream {
  push(part: string): string
  end(): string
}

/**
 * Takes known secrets out of text and values, in every form in which a service is likely to echo them: as they are,
 * escaped in JSON, encoded for a URL, and in base64, alone or as part of something longer.
 */
export class Redactor {
  readonly #forms: readonly string[]
  readonly #many: ManyTexts | undefined

  constructor(secrets: Iterable<string>) {
    const long = [...new Set(secrets)].filter((secret) => secret.length >= shortestSecret)
    // The longest first, so that a secret which is part of another one does not leave the rest of it behind.
    this.#forms = [...new Set(long.flatMap(formsOf))].sort((a, b) => b.length - a.length)
    this.#many = this.#forms.length > fewForms ? new ManyTexts(this.#forms) : undefined
  }

  get isEmpty(): boolean {
    return this.#forms.length === 0
  }

  text(text: string): string {
    if (this.#many) return this.#many.replaceAll(text, hidden)
    let clean = text
    for (const form of this.#forms) if (clean.includes(form)) clean = clean.replaceAll(form, hidden)
    return clean
  }

  /** For text that comes in parts: what may be the beginning of a secret is held back until the next part tells. */
  stream(): RedactedStream {
    let held = ''
    return {
      push: (part) => {
        const text = this.text(held + part)
        held = this.#beginningAtEnd(text)
        return text.slice(0, text.length - held.length)
      },
      end: () => {
        const rest = held
        held = ''
        return rest
      },
    }
  }

  /** The longest end of the text that a secret begins with. */
  #beginningAtEnd(text: string): string {
    const longest = Math.min(text.length, Math.max(0, ...this.#forms.map((form) => form.length - 1)))
    for (let length = longest; length > 0; length--) {
      const end = text.slice(-length)
      if (this.#forms.some((form) => form.startsWith(end))) return end
    }
    return ''
  }

  /** The same value where it holds no secret. */
  value<T extends Json>(value: T): T {
    return this.#walk(value, 0) as T
  }

  /** Whether JSON text may hold a secret. JSON can spell any character as \u0061, and "/" as "\/"; then it may. */
  holds(text: string): boolean {
    return !this.isEmpty && (this.text(text) !== text || /\\[u/]/.test(text))
  }

  /** A cheap look at the text first: most answers hold no secret and are passed on as they came. */
  output(output: Output): Output {
    const { text, value } = output
    if (!this.holds(text)) return output
    const clean = this.value(value)
    return clean === value ? output : { ...output, value: clean, text: JSON.stringify(clean) }
  }

  /** Of what is told to a caller; the cause goes to the log, where it is redacted as text. */
  error(error: unknown): unknown {
    if (!(error instanceof PlatformError)) return error
    const details = error.details as unknown as JsonObject
    const clean = this.value(details)
    return clean === details ? error : new PlatformError(error.code, clean as never, { cause: error })
  }

  #walk(value: Json, depth: number): Json {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') return this.#forms.includes(String(value)) ? hidden : value
    if (depth > deepest) return hidden
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#walk(item, depth + 1))
      return items.some((item, index) => item !== value[index]) ? items : value
    }
    if (!isObject(value)) return value
    const before = Object.entries(value as JsonObject)
    const after = before.map(([key, inner]) => [this.text(key), this.#walk(inner, depth + 1)] as const)
    const isSame = after.every(([key, inner], index) => key === before[index]?.[0] && inner === before[index]?.[1])
    return isSame ? value : Object.fromEntries(after)
  }
}

const inJson = (text: string) => JSON.stringify(text).slice(1, -1)

/** How a secret looks in answers that hold it. */
function formsOf(secret: string): string[] {
  const escaped = inJson(secret)
  const ascii = escaped.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const encoded = encodeURIComponent(secret.toWellFormed())
  return [
    secret,
    escaped,
    escaped.replaceAll('/', '\\/'),
    ascii,
    ascii.replaceAll('/', '\\/'),
    // JSON within JSON, as MCP servers like to answer.
    inJson(escaped),
    inJson(ascii),
    encoded,
    encoded.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    encoded.replaceAll('%20', '+'),
    ...base64FormsOf(secret),
  ]
}

/**
 * What base64 makes of the secret, wherever it begins within a group of three bytes. The characters at both ends, which
 * depend on its neighbours, are left out.
 */
function base64FormsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const first = before === 0 ? 0 : before + 1
    const isWhole = (before + bytes.length) % 3 === 0
    const form = text.slice(first, isWhole ? undefined : -1)
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
