import type { Approval } from '../model/approval.ts'
import { isObject, type Json, type JsonObject } from '../model/json.ts'
import type { ToolRecord } from '../store/tools.ts'

/** What stands for a secret. */
export const hidden = '[redacted]'

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
export function redact(text: string, known: readonly string[] = []): string {
  const holdsKnown = known.some((secret) => text.includes(secret))
  if (!holdsKnown && !suspicious.test(text)) return text
  return JSON.stringify(walk(JSON.parse(text), known))
}

/** An approval as people see it: the arguments whole, but for secrets. */
export const shown = (approval: Approval): Approval => ({
  ...approval,
  input: redacted(approval.input),
  edited_input: approval.edited_input && redacted(approval.edited_input),
})

/** A value with secrets taken out. */
export const redacted = (value: JsonObject): JsonObject => walk(value, []) as JsonObject

function walk(value: Json, known: readonly string[], depth = 0): Json {
  // Deeper than anything that people read, and than what a function that calls itself can follow.
  if (depth > 200) return hidden
  if (typeof value === 'string') return redactText(value, known)
  if (Array.isArray(value)) return value.map((item) => walk(item, known, depth + 1))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isSecretField(key) && inner !== null && typeof inner !== 'boolean'
        ? hidden
        : walk(inner as Json, known, depth + 1),
    ]),
  )
}

export const isSecretField = (key: string) => secretFields.has(key.toLowerCase().replaceAll(/[-_]/g, ''))

function redactText(text: string, known: readonly string[]): string {
  let redacted = text
    .replaceAll(/\bsk_[A-Za-z0-9]{20,}/g, hidden)
    .replaceAll(/\bBearer\s+[\w.~+/=-]{8,}/gi, `Bearer ${hidden}`)
  for (const secret of known) redacted = redacted.replaceAll(secret, hidden)
  return redacted
}

/** A value without those texts, and otherwise as it is. */
export function hide(value: Json, known: readonly string[]): Json {
  if (known.length === 0) return value
  if (typeof value === 'string') return known.reduce((text, secret) => text.replaceAll(secret, hidden), value)
  if (Array.isArray(value)) return value.map((item) => hide(item, known))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, hide(inner as Json, known)]))
}

const found = new WeakMap<object, readonly string[]>()

/** What a tool proves with who it is; looked for once in each record. */
export function secretsOf(tool: Pick<ToolRecord, 'execute' | 'mcp'>): readonly string[] {
  let secrets = found.get(tool)
  if (!secrets) {
    const { execute, mcp } = tool
    secrets = [execute?.headers, queryOf(execute?.url), mcp?.headers, mcp?.env].flatMap(secretsIn)
    found.set(tool, secrets)
  }
  return secrets
}

/** What is fixed in the query of an address. */
const queryOf = (url = '') =>
  url.includes('?') ? Object.fromEntries(new URLSearchParams(/\?([^#]*)/.exec(url)?.[1])) : undefined

/** Headers that everyone may see, whatever their values look like. */
const harmless = /^(accept|content|cache|if|user-agent|host|origin|referer|range|date|mcp-protocol)\b/i
const secretName = /auth|token|secret|passw|passphrase|key|cookie|credential|session|signature|sig$|pwd/i
/** Long, in one piece, of letters and digits, and neither an address nor a path: what nobody writes by hand. */
const secretValue = /^(?!\w+:\/\/|\/)(?=\S*\d)(?=\S*[A-Za-z])\S{16,}$/

/** Values of a tool's own headers or variables that are secrets, by their name or by their looks. */
export const secretsIn = (values: Readonly<Record<string, string>> | undefined): string[] =>
  Object.entries(values ?? {}).flatMap(([name, value]) => {
    if (harmless.test(name)) return []
    const [, scheme = '', bare = ''] = /^(\w+\s+)?(.*)$/s.exec(value) ?? []
    if (!secretName.test(name) && !secretValue.test(bare)) return []
    return (scheme === '' ? [value] : [value, bare]).filter((secret) => secret.length >= 6)
  })
