import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import type { Output } from '../model/tool.ts'
import { ManyTexts } from './many-texts.ts'

/** The placeholder for a redacted secret. */
export const hidden = '[redacted]'

/**
 * Shorter values are not redacted. "blue" or "12345" occurs in many responses that have nothing to do with a credential.
 * Redacting it would break the response without protecting a secret, because such values are easy to guess.
 */
export const shortestSecret = 8

const deepest = 1000
/** Up to this number of forms, separate searches are faster than `ManyTexts`. */
const fewForms = 60

export interface RedactedStream {
  push(part: string): string
  end(): string
}

/**
 * Redacts known secrets in text and values, in every form in which a service is likely to echo them: verbatim, escaped in
 * JSON, URL-encoded, and in base64, alone or as part of a longer text.
 */
export class Redactor {
  readonly #forms: readonly string[]
  readonly #many: ManyTexts | undefined

  constructor(secrets: Iterable<string>) {
    const long = [...new Set(secrets)].filter((secret) => secret.length >= shortestSecret)
    // Longest first: if one secret is part of another, redacting the shorter one first would leave the rest of the longer.
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

  /** Redacts a stream. A possible beginning of a secret is held back until the next part arrives. */
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

  /** The longest suffix of the text that is a prefix of a secret. */
  #beginningAtEnd(text: string): string {
    const longest = Math.min(text.length, Math.max(0, ...this.#forms.map((form) => form.length - 1)))
    for (let length = longest; length > 0; length--) {
      const end = text.slice(-length)
      if (this.#forms.some((form) => form.startsWith(end))) return end
    }
    return ''
  }

  /** Returns the same object if it contains no secret. */
  value<T extends Json>(value: T): T {
    return this.#walk(value, 0) as T
  }

  /** Whether JSON text may contain a secret. True for any \u0061 or \/ escape, because these can spell a secret. */
  holds(text: string): boolean {
    return !this.isEmpty && (this.text(text) !== text || /\\[u/]/.test(text))
  }

  /** Checks the text first, which is cheap. Most responses contain no secret and are returned unchanged. */
  output(output: Output): Output {
    const { text, value, note = '' } = output
    if (!this.holds(text) && !this.holds(note)) return output
    const clean = this.value(value)
    return {
      ...output,
      ...(clean !== value && { value: clean, text: JSON.stringify(clean) }),
      ...(note !== '' && { note: this.text(note) }),
    }
  }

  /** Redacts the details that a caller sees. The cause is only logged, where it is redacted as text. */
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
    const before = Object.entries(value)
    const after = before.map(([key, inner]) => [this.text(key), this.#walk(inner, depth + 1)] as const)
    const isSame = after.every(([key, inner], index) => key === before[index]?.[0] && inner === before[index]?.[1])
    return isSame ? value : Object.fromEntries(after)
  }
}

const inJson = (text: string) => JSON.stringify(text).slice(1, -1)

/** The forms that a secret can have in a response. */
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
    // JSON within JSON, which is common in responses of MCP servers.
    inJson(escaped),
    inJson(ascii),
    encoded,
    encoded.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    encoded.replaceAll('%20', '+'),
    ...base64FormsOf(secret),
  ]
}

/**
 * The secret in base64, for each offset within a group of three bytes. Leaves out characters at both ends that depend on
 * the surrounding bytes.
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
