/**
 * Names under which a header or an environment variable holds a credential. The list is deliberately narrow: a value that
 * is not recognised as a credential counts as part of a tool's definition, and changing it needs a new approval.
 */
const credentialName =
  /^(?:proxy[-_])?authorization$|^cookie$|(?:^|[-_])(?:(?:api|auth|access|private|security)[-_]?token|(?:api|access|secret|subscription|private)[-_]?key|token|secret|passw(?:or)?d|pwd)$/i

/** A value that refers to a secret by name instead of holding it. */
const reference = '${{'

/**
 * The headers or variables of a tool without the values that may rotate. The names stay, and so do references to secrets:
 * which secret is sent, and where, is part of the definition.
 */
export const withoutCredentials = (
  values: Readonly<Record<string, string>> | undefined,
): Record<string, string | null> | undefined =>
  values &&
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      credentialName.test(name) && !value.includes(reference) ? null : value,
    ]),
  )
