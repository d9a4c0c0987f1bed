import { isSecretName } from '../../credentials/names.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'

/** The most characters that hints may add to the schema of one action. */
export const hintBudget = 240
const maxExamples = 2

/**
 * Adds examples of values that worked to fields whose schema does not explain them. They come from recorded, redacted
 * inputs. Only values that are short, a single word, and neither secret nor personal are used: several people may share
 * a key, and a hint must not leak one person's data to another.
 */
export function withExamples(schema: JsonObject, inputs: readonly JsonObject[], budget = hintBudget): JsonObject {
  if (inputs.length === 0 || !isObject(schema.properties)) return schema
  const properties = schema.properties
  const required = Array.isArray(schema.required) ? schema.required : []
  const fields = Object.keys(properties).sort((a, b) => Number(required.includes(b)) - Number(required.includes(a)))
  const hinted: JsonObject = {}
  let left = budget
  for (const field of fields) {
    const property = properties[field]
    if (!isObject(property) || isPrivateField(field) || tells(property)) continue
    const examples = usual(inputs.map((input) => input[field])).filter((value) => isTyped(value, property))
    const cost = JSON.stringify({ examples }).length
    if (examples.length === 0 || cost > left) continue
    left -= cost
    hinted[field] = { ...property, examples }
  }
  return left === budget ? schema : { ...schema, properties: { ...properties, ...hinted } }
}

const tells = (property: JsonObject): boolean =>
  ['enum', 'const', 'examples', 'example', 'default'].some((key) => Object.hasOwn(property, key))

const isTyped = (value: Json, { type }: JsonObject): boolean => {
  if (type === undefined) return true
  const types = typeof value === 'number' ? ['number', 'integer'] : ['string']
  return types.some((one) => type === one || (Array.isArray(type) && type.includes(one)))
}

/** The most common values first, and among equals the newest. */
function usual(values: readonly (Json | undefined)[]): Json[] {
  const counts = new Map<Json, number>()
  for (const value of values) if (isTellable(value)) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, maxExamples)
    .map(([value]) => value)
}

/** Fields for personal data or free text. Their values are never used, and neither are those of credentials. */
const privateParts =
  /name|mail|phone|mobile|address|street|postal|birth|gender|passport|account|person|people|contact|customer|patient|employee|recipient/
const privateWords = new Set(
  'zip age dob ssn tax iban bic card cvv pin otp code user users client member owner assignee attendee attendees sender to cc bcc from salary amount lat lon lng latitude longitude ip q query search text note notes title subject message body content description comment summary prompt'.split(
    ' ',
  ),
)

const isPrivateField = (field: string): boolean => {
  const words = field.replaceAll(/([a-z\d])([A-Z])/g, '$1_$2').toLowerCase()
  return (
    isSecretName(field) || privateParts.test(words) || words.split(/[^a-z]+/).some((word) => privateWords.has(word))
  )
}

const oneWord = /^[\p{L}\p{N}#_./:+-]{1,40}$/u
/** An e-mail address, a URL, a phone number, or a redacted value. */
const looksPrivate = /@|\?|:\/\/|^\+?[\d().-]{7,}$|redacted/
const looksLikeSecret = /^(?=.*\d)(?=.*[A-Za-z])[^/]{16,}$/
const isTime = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:?\d\d)?)?$/

function isTellable(value: Json | undefined): value is string | number {
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) <= 1000
  if (typeof value !== 'string' || !oneWord.test(value)) return false
  return isTime.test(value) || (!looksPrivate.test(value) && !looksLikeSecret.test(value))
}
