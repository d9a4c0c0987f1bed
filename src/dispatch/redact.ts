import { hidden, type Redactor } from '../credentials/redactor.ts'
import type { Approval } from '../model/approval.ts'
import { isObject, type Json, type JsonObject } from '../model/json.ts'

/** Field names whose values are secrets wherever they stand, compared without case, dashes and underscores. */
const secretFields = new Set([
  'password',
  'passwd',
  'passphrase',
  'secret',
  'clientsecret',
  'token',
  'accesstoken',
  'refreshtoken',
  'idtoken',
  'sessiontoken',
  'apikey',
  'xapikey',
  'privatekey',
  'secretkey',
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'credentials',
])

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

/** An approval as people see it: the arguments whole, but for secrets. */
export const shown = (approval: Approval): Approval => ({
  ...approval,
  input: redacted(approval.input),
  edited_input: approval.edited_input && redacted(approval.edited_input),
})

/** A value with secrets taken out. */
export const redacted = (value: JsonObject): JsonObject => walk(value) as JsonObject

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

export const isSecretField = (key: string) => secretFields.has(key.toLowerCase().replaceAll(/[-_]/g, ''))

const redactText = (text: string): string =>
  text.replaceAll(/\bsk_[A-Za-z0-9]{20,}/g, hidden).replaceAll(/\bBearer\s+[\w.~+/=-]{8,}/gi, `Bearer ${hidden}`)
