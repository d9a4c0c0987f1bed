import { ownKeys, type Reader, shownInput } from '../approvals/sensitive.ts'
import { isSecretField, secretFieldWithin } from '../credentials/names.ts'
import { hidden, type Redactor } from '../credentials/redactor.ts'
import { isObject, type Json } from '../lib/json.ts'
import type { Approval } from '../model/approval.ts'

/** Most texts contain none of these, and this test is far cheaper than walking the value. */
const suspicious = new RegExp(`${secretFieldWithin.source}|bearer|\\bsk_`, 'i')

/** Redacts JSON text: values of fields with a secret name, the platform's API keys, and known secrets of the tool. */
export function redact(text: string, secrets?: Redactor): string {
  const isSuspicious = suspicious.test(text)
  if (!isSuspicious && !secrets?.holds(text)) return text
  const value = JSON.parse(text) as Json
  const without = secrets ? secrets.value(value) : value
  if (isSuspicious) return JSON.stringify(walk(without))
  return without === value ? text : JSON.stringify(without)
}

/** An approval for display: secret arguments are hidden, and `sensitive` lists those that are hidden or look secret. */
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
  // Nobody reads values this deep, and the recursion must end before the stack overflows.
  if (depth > 200) return hidden
  if (typeof value === 'string') return redactText(value)
  if (Array.isArray(value)) return value.map((item) => walk(item, depth + 1))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isSecretField(key) && inner !== null && typeof inner !== 'boolean' ? hidden : walk(inner, depth + 1),
    ]),
  )
}

const redactText = (text: string): string =>
  text.replaceAll(ownKeys, hidden).replaceAll(/\bBearer\s+[\w.~+/=-]{8,}/gi, `Bearer ${hidden}`)
