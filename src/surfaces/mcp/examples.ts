import { isObject, type Json, type JsonObject } from '../../lib/json.ts'

/** What hints may add to the schema of one action, in characters. */
export const hintBudget = 240
const mostExamples = 2

/**
 * A schema with examples of values that have worked, for fields of which it does not say itself what they are like.
 * They come from inputs as they are recorded, redacted, and only from what is short, of one word, and looks neither
 * secret nor personal: a hint is not worth telling one person's data to another who shares a key.
 */
export function withExamples(schema: JsonObject, inputs: readonly JsonObject[], budget = hintBudget): JsonObject {
  if (inputs.length === 0 || !isObject(schema.properties)) return schema
  const properties = schema.properties as JsonObject
  const required = Array.isArray(schema.required) ? schema.required : []
  const fields = Object.keys(properties).sort((a, b) => Number(required.includes(b)) - Number(required.includes(a)))
  const hinted: JsonObject = {}
  let left = budget
  for (const field of fields) {
    const property = properties[field] as Json
    if (!isObject(property) || isPrivateField(field) || tells(property as JsonObject)) continue
    const examples = usual(inputs.map((input) => input[field])).filter((value) =>
      isTyped(value, property as JsonObject),
    )
    const cost = JSON.stringify({ examples }).length
    if (examples.length === 0 || cost > left) continue
    left -= cost
    hinted[field] = { ...property, examples } as JsonObject
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

/** The commonest first, and of those that are as common the newest. */
function usual(values: readonly (Json | undefined)[]): Json[] {
  const counts = new Map<Json, number>()
  for (const value of values) if (isTellable(value)) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, mostExamples)
    .map(([value]) => value)
}

/** Fields about people, with what only they should know, or for words of theirs, whatever stands in them. */
const privateParts =
  /name|mail|phone|mobile|address|street|postal|birth|gender|passport|account|person|people|contact|customer|patient|employee|recipient|secret|token|passw|passphrase|auth|cookie|credential|session|signature/
const privateWords = new Set(
  'zip age dob ssn tax iban bic card cvv pin otp code key user users client member owner assignee attendee attendees sender to cc bcc from salary amount lat lon lng latitude longitude ip q query search text note notes title subject message body content description comment summary prompt'.split(
    ' ',
  ),
)

const isPrivateField = (field: string): boolean => {
  const words = field.replaceAll(/([a-z\d])([A-Z])/g, '$1_$2').toLowerCase()
  return privateParts.test(words) || words.split(/[^a-z]+/).some((word) => privateWords.has(word))
}

const oneWord = /^[\p{L}\p{N}#_./:+-]{1,40}$/u
/** An address of a person or of something with a query, a telephone number, or what nobody writes by hand. */
const looksPrivate = /@|\?|:\/\/|^\+?[\d().-]{7,}$|redacted/
const looksLikeSecret = /^(?=.*\d)(?=.*[A-Za-z])[^/]{16,}$/
const isTime = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:?\d\d)?)?$/

function isTellable(value: Json | undefined): value is string | number {
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) <= 1000
  if (typeof value !== 'string' || !oneWord.test(value)) return false
  return isTime.test(value) || (!looksPrivate.test(value) && !looksLikeSecret.test(value))
}
