/** Whether a URL stays on this machine, where plain http is acceptable (RFC 8252, section 7.3). */
export const isLoopbackUrl = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' &&
  (hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname))

/**
 * Describes why a URL of metadata must not be used; undefined if it may. Plain http is acceptable only if the server that published
 * it is on this machine as well: a server elsewhere has no reason to send us to our own loopback.
 */
export function objectionTo(url: string, publisher: string): string | undefined {
  const parsed = URL.parse(url)
  if (!parsed) return 'is not a URL'
  if (parsed.username !== '' || parsed.password !== '') return 'contains a user name or password'
  if (parsed.hash !== '') return 'contains a fragment'
  if (parsed.protocol === 'https:') return undefined
  const from = URL.parse(publisher)
  if (isLoopbackUrl(parsed) && from && isLoopbackUrl(from)) return undefined
  return 'does not use https'
}

/** The host of a URL, for messages. */
export const hostOf = (url: string): string => URL.parse(url)?.host || 'an invalid URL'
