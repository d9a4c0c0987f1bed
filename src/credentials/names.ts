/**
 * Recognizes credentials by name. There is a column for each purpose, because mistakes have different consequences:
 * - `sent`: the value of a header, variable or query parameter. It is encrypted, masked and redacted. Broad: a missed
 *   credential could leak through a response.
 * - `rotates`: such a value may change without a new approval. Narrow: any other value is part of what was approved.
 * - `field`: a field in the arguments, the presets or the result of a call. It is hidden in call records. Common names
 *   only: a field that is wrongly hidden is missing there.
 *
 * A name matches as a `whole`, by its `last` words (`X-Api-Key`), by its `end` (`mysig`), or if the word is any `part` of
 * it. Case, dashes and underscores do not matter.
 */
interface Row {
  readonly sent?: 'part' | 'end'
  readonly rotates?: 'whole' | 'last'
  readonly field?: 'whole'
}

const table: Readonly<Record<string, Row>> = {
  authorization: { rotates: 'whole', field: 'whole' },
  'proxy-authorization': { rotates: 'whole', field: 'whole' },
  auth: { sent: 'part' },
  'auth-token': { rotates: 'last' },
  cookie: { sent: 'part', rotates: 'whole', field: 'whole' },
  'set-cookie': { field: 'whole' },
  session: { sent: 'part' },
  'session-token': { field: 'whole' },
  token: { sent: 'part', rotates: 'last', field: 'whole' },
  'access-token': { rotates: 'last', field: 'whole' },
  'refresh-token': { field: 'whole' },
  'id-token': { field: 'whole' },
  'api-token': { rotates: 'last' },
  'private-token': { rotates: 'last' },
  'security-token': { rotates: 'last' },
  secret: { sent: 'part', rotates: 'last', field: 'whole' },
  'client-secret': { field: 'whole' },
  key: { sent: 'part' },
  'api-key': { rotates: 'last', field: 'whole' },
  'x-api-key': { field: 'whole' },
  'access-key': { rotates: 'last' },
  'secret-key': { rotates: 'last', field: 'whole' },
  'private-key': { rotates: 'last', field: 'whole' },
  'subscription-key': { rotates: 'last' },
  password: { sent: 'part', rotates: 'last', field: 'whole' },
  passwd: { sent: 'part', rotates: 'last', field: 'whole' },
  passphrase: { sent: 'part', field: 'whole' },
  passw: { sent: 'part' },
  pwd: { sent: 'part', rotates: 'last' },
  credential: { sent: 'part' },
  credentials: { field: 'whole' },
  signature: { sent: 'part' },
  sig: { sent: 'end' },
  'app-id': { sent: 'part' },
}

/** Headers that are never secret, even if their value looks like a key: the words that they start with. */
const harmless = [
  'accept',
  'content',
  'cache',
  'if',
  'user-agent',
  'host',
  'origin',
  'referer',
  'range',
  'date',
  'mcp-protocol',
]

const bare = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, '')

const rowsWith = <Purpose extends keyof Row>(purpose: Purpose, match: Row[Purpose]): string[] =>
  Object.entries(table).flatMap(([name, row]) => (row[purpose] === match ? bare(name) : []))

const parts = rowsWith('sent', 'part')
const ends = rowsWith('sent', 'end')
const rotatingNames = new Set(rowsWith('rotates', 'whole'))
const rotatingEnds = new Set(rowsWith('rotates', 'last'))
const fields = new Set(rowsWith('field', 'whole'))

/** Headers, variables and query parameters whose value must not appear in a response. */
export function isSecretName(name: string): boolean {
  const text = bare(name)
  return parts.some((part) => text.includes(part)) || ends.some((end) => text.endsWith(end))
}

export const isHarmlessName = (name: string): boolean =>
  harmless.some((start) => new RegExp(`^${start}\\b`, 'i').test(name))

/** Headers and environment variables whose value may rotate. */
function isRotatingName(name: string): boolean {
  const words = name.toLowerCase().split(/[-_]/)
  return rotatingNames.has(words.join('')) || words.some((_, index) => rotatingEnds.has(words.slice(index).join('')))
}

/** Whether a value with this name is treated as a credential even if its schema does not declare it secret. */
export const isSecretField = (key: string): boolean => fields.has(bare(key))

/** Matches every text that contains the name of such a field. Most texts do not, and a match is cheap to rule out. */
export const secretFieldWithin = new RegExp(
  Object.keys(table)
    .filter((name) => table[name]?.field)
    .filter((name, _, all) => !all.some((other) => other !== name && bare(name).includes(bare(other))))
    .map((name) => name.replaceAll('-', '[-_]?'))
    .join('|'),
  'i',
)

/** A value that refers to a secret by name instead of holding it. */
const reference = '${{'

/**
 * Removes the values that may rotate from a tool's headers or variables. Keeps their names and references to secrets: which
 * secret is sent, and in which header, is part of the definition.
 */
export const withoutCredentials = (
  values: Readonly<Record<string, string>> | undefined,
): Record<string, string | null> | undefined =>
  values &&
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      isRotatingName(name) && !value.includes(reference) ? null : value,
    ]),
  )
