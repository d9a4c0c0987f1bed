/**
 * Recognizes credentials by name. There are three lists because mistakes have different consequences:
 * - a value wrongly considered rotating could be changed without a new approval;
 * - a missed credential in a tool's request could leak through its response;
 * - a wrongly hidden argument is missing from call records.
 */

/** Headers and environment variables whose value may rotate. Narrow, because any other value is part of the definition. */
const rotatingName =
  /^(?:proxy[-_])?authorization$|^cookie$|(?:^|[-_])(?:(?:api|auth|access|private|security)[-_]?token|(?:api|access|secret|subscription|private)[-_]?key|token|secret|passw(?:or)?d|pwd)$/i

/** Headers, variables and query parameters whose value must not appear in a response. Broad. */
const secretName = /auth|token|secret|passw|passphrase|key|cookie|credential|session|signature|sig$|pwd|appid/i
export const isSecretName = (name: string): boolean => secretName.test(name)

/** Common field names of credentials. Compared without case, dashes and underscores. */
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

/** Whether a value with this name is treated as a credential even if its schema does not declare it secret. */
export const isSecretField = (key: string): boolean => secretFields.has(key.toLowerCase().replaceAll(/[-_]/g, ''))

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
      rotatingName.test(name) && !value.includes(reference) ? null : value,
    ]),
  )
