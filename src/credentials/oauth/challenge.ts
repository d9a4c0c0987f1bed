import type { Challenge } from './types.ts'

/** Longer headers are not read. */
const maxLength = 16_384

/** Reads the `Bearer` challenge of a `WWW-Authenticate` header. Returns an empty challenge if there is none. */
export function parseChallenge(header: string | null | undefined): Challenge {
  const bearers = parseChallenges(header ?? '').filter(({ scheme }) => scheme === 'bearer')
  const { params } = bearers.find(({ params }) => params.has('resource_metadata')) ??
    bearers[0] ?? { params: new Map() }
  const resourceMetadata = params.get('resource_metadata')
  const scopes = parseScopes(params.get('scope'))
  const error = params.get('error')
  return {
    ...(resourceMetadata !== undefined && URL.canParse(resourceMetadata) && { resourceMetadata }),
    ...(scopes && { scopes }),
    ...(error !== undefined && isErrorCode(error) && { error }),
  }
}

interface ParsedChallenge {
  readonly scheme: string
  readonly params: Map<string, string>
}

const tokenChars = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const separators = /[ \t,]*/y
const param = new RegExp(
  `(${tokenChars})[ \\t]*=[ \\t]*(?:"((?:[^"\\\\]|\\\\.)*)"|(${tokenChars}))(?=[ \\t]*(?:,|$))`,
  'y',
)
const schemeToken = new RegExp(`(${tokenChars})(?=[ \\t,]|$)`, 'y')
/** The credentials of schemes such as `Negotiate`, which have no parameters. */
const token68 = /[ \t]+[A-Za-z0-9._~+/-]+=*(?=[ \t]*(?:,|$))/y

/**
 * RFC 9110, section 11.6.1: a list of challenges, each a scheme with a list of parameters. Both lists use commas, so a name
 * followed by `=` belongs to the current challenge, and any other name starts the next one. Parsing stops at text that is
 * neither, because what follows might be part of a value.
 */
export function parseChallenges(header: string): readonly ParsedChallenge[] {
  const challenges: ParsedChallenge[] = []
  if (header.length > maxLength) return challenges
  let at = 0
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at
    const match = pattern.exec(header)
    if (match) at = pattern.lastIndex
    return match
  }
  for (take(separators); at < header.length; take(separators)) {
    const found = take(param)
    const current = challenges.at(-1)
    if (found && current) addParam(current, found)
    else {
      const scheme = found ? null : take(schemeToken)
      if (!scheme) break
      challenges.push({ scheme: (scheme[1] ?? '').toLowerCase(), params: new Map() })
      take(token68)
    }
  }
  return challenges
}

/** Of a repeated parameter, the first one counts. */
function addParam({ params }: ParsedChallenge, [, name = '', quoted, plain = '']: RegExpExecArray): void {
  const key = name.toLowerCase()
  if (!params.has(key)) params.set(key, quoted === undefined ? plain : quoted.replace(/\\(.)/gs, '$1'))
}

/** RFC 6749, section 3.3. Returns undefined if there is no scope, or if one has characters that are not allowed. */
export function parseScopes(text: string | undefined): readonly string[] | undefined {
  const scopes = [...new Set((text ?? '').split(/\s+/).filter((scope) => scope !== ''))]
  return scopes.length > 0 && scopes.every(isScope) ? scopes : undefined
}

export const isScope = (scope: string): boolean => /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(scope)

/** Whether text is an error code and not a message. */
export const isErrorCode = (text: string): boolean => /^[\w.:/-]{1,64}$/.test(text)
