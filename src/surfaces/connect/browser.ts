import { hash, timingSafeEqual } from 'node:crypto'
import { newToken } from '../../credentials/connections/flows.ts'
import { PlatformError } from '../../model/errors.ts'
import type { Exchange } from '../../server/exchange.ts'

/** Browsers share cookies between all ports of a host, so platforms on one host need different names. */
const cookieName = (publicUrl: string): string => {
  const { port, protocol } = new URL(publicUrl)
  return `${protocol === 'https:' ? '__Secure-' : ''}qm_connect${port === '' ? '' : `_${port}`}`
}

/** Identifies a browser on the connect pages. */
export function browserOf({ headers }: Exchange, publicUrl: string): string | undefined {
  const name = cookieName(publicUrl)
  const cookies = (headers.cookie ?? '').split(';').map((one) => one.trim())
  const value = cookies.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1)
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined
}

/**
 * SameSite=Lax, because the browser comes back from another site. Nobody but these pages gets it, and it grants nothing:
 * it only tells that two requests come from the same browser.
 */
export function browserCookie(browser: string, publicUrl: string): string {
  const isSecure = publicUrl.startsWith('https:')
  return `${cookieName(publicUrl)}=${browser}; Path=/connect; HttpOnly; SameSite=Lax; Max-Age=3600${isSecure ? '; Secure' : ''}`
}

export const newBrowser = newToken

/** In each form, so that other sites cannot send it. */
export const csrfOf = (browser: string): string => hash('sha256', `connect\n${browser}`, 'base64url')

export function requireOwnForm({ headers }: Exchange, browser: string | undefined, sent: string | null): string {
  const expected = Buffer.from(browser === undefined ? '' : csrfOf(browser))
  const given = Buffer.from(sent ?? '')
  const isOwn = expected.length > 0 && given.length === expected.length && timingSafeEqual(given, expected)
  if (browser === undefined || !isOwn) throw new PlatformError('FORGED_REQUEST', { reason: 'token' })
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') throw new PlatformError('FORGED_REQUEST', { reason: 'origin' })
  return browser
}
