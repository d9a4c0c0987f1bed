import { isSecretField, ownKeys, type Reader, shownInput } from '../approvals/sensitive.ts'
import { hidden, type Redactor } from '../credentials/redactor.ts'
import { isObject, type Json } from '../lib/json.ts'
import type { Approval } from '../model/approval.ts'

/** Most texts hold none of these, and looking for them is far cheaper than walking the value. */
const suspicious =
  /pass(?:word|wd|phrase)|secret|token|api[-_]?key|private[-_]?key|authorization|cookie|credentials|bearer|\bsk_/i

/** The JSON text with secrets taken out: what stands under a secret's name, our own keys, and values known to be secret. */
export function redact(text: string, known?: Redactor): string {
  const isSuspicious = suspicious.test(text)
  if (!isSuspicious && !known?.holds(text)) return text
  const value = JSON.parse(text) as Json
  const without = known ? known.value(value) : value
  if (isSuspicious) return JSON.stringify(walk(without))
  return without === value ? text : JSON.stringify(without)
}

/** An approval as its readers see it: the arguments, but for secrets, and a word on each that is hidden or looks like one. */
export function shown(approval: Approval, reader: Reader = 'reviewer'): Approval {
  const { input, edited_input, secret_paths } = approval
  const sent = shownInput(input, secret_paths, reader)
  const edited = edited_input && shownInput(edited_input, secret_paths, reader)
  return {
    ...approval,
    input: sent.value,
    edited_input: edited?.value ?? null,
    sensitive: (edited ?? sent).sensitive,
  }
}

function walk(value: Json, depth = 0): Json {
  // Deeper than anything that people read, and than what a function that calls itself can follow.
  if (depth > 200) return hidden
  if (typeof value === 'string') return redactText(value)
  if (Array.isArray(value)) return value.map((item) => walk(item, depth + 1))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isSecretField(key) && inner !== null && typeof inner !== 'boolean' ? hidden : walk(inner as Json, depth + 1),
    ]),
  )
}

const redactText = (text: string): string =>
  text.replaceAll(ownKeys, hidden).replaceAll(/\bBearer\s+[\w.~+/=-]{8,}/gi, `Bearer ${hidden}`)
