import { isObject, type Json } from '../lib/json.ts'
import { shortestSecret } from './redactor.ts'
import { masked } from './tool-secrets.ts'

/** A text of a config that is or contains a secret: where it is, and the whole text. */
export type SecretText = readonly [path: readonly string[], text: string]

export interface HiddenConfig {
  /** The config with its secrets masked. */
  readonly config: object
  readonly texts: readonly SecretText[]
}

const isUrl = /^[a-z][a-z0-9+.-]*:\/\//i

/** Masks secrets in the texts of a config. References to secrets stay visible, because they are not secret. */
export function hideSecrets(config: object, secrets: readonly string[]): HiddenConfig {
  const known = new Set(secrets.filter((secret) => secret !== '' && !secret.includes('${{')))
  if (known.size === 0) return { config, texts: [] }
  const texts: SecretText[] = []
  const shown = mapTexts(config as Json, (text, path) => {
    const hidden = hideIn(text, known)
    if (hidden !== text) texts.push([path, text])
    return hidden
  })
  return { config: shown as object, texts }
}

/** The texts of a config that are shown differently. */
export function secretTexts(shown: object, config: object): SecretText[] {
  const texts: SecretText[] = []
  mapTexts(config as Json, (text, path) => {
    if (textAt(shown as Json, path) !== text) texts.push([path, text])
    return text
  })
  return texts
}

/** Undoes `hideSecrets`. */
export const revealSecrets = ({ config, texts }: HiddenConfig): object =>
  texts.reduce((whole, [path, text]) => withText(whole as Json, path, text), config as Json) as object

/**
 * Short secrets are recognized only as a whole value: of a text, of a query parameter, or after `=`. Anywhere else, the
 * same few characters are likely to be something else.
 */
function hideIn(text: string, secrets: ReadonlySet<string>): string {
  if (secrets.has(text)) return masked
  const [, name, value] = /^(-{0,2}[\w.-]+=)(.*)$/s.exec(text) ?? []
  if (name !== undefined && value !== undefined) return `${name}${hideIn(value, secrets)}`
  const long = [...secrets].filter(({ length }) => length >= shortestSecret).sort((a, b) => b.length - a.length)
  return long.reduce(
    (shown, secret) => shown.replaceAll(secret, masked),
    isUrl.test(text) ? hideInUrl(text, secrets) : text,
  )
}

function hideInUrl(url: string, secrets: ReadonlySet<string>): string {
  const isSecret = (value: string) => [...new URLSearchParams(`v=${value}`).values()].some((one) => secrets.has(one))
  return url
    .replace(/^([^/]+:\/\/[^/?#@:]*:)([^/?#@]+)@/, (whole, before: string, password: string) =>
      secrets.has(password) || isSecret(password.replaceAll('+', '%2B')) ? `${before}${masked}@` : whole,
    )
    .replaceAll(/([?&][^=&#]*=)([^&#]+)/g, (whole, before: string, value: string) =>
      isSecret(value) ? `${before}${masked}` : whole,
    )
}

export interface Restored {
  readonly config: object
  /** Paths whose mask was replaced by the secret. */
  readonly restored: readonly string[]
  /** Paths with a mask that stands for nothing known. */
  readonly unknown: readonly string[]
}

/** Replaces masks that a client sends back with the secrets they stand for, in the same place of the previous config. */
export function restoreSecrets(sent: object, before: HiddenConfig): Restored {
  const previous = new Map(before.texts.map(([path, text]) => [path.join('\0'), text]))
  const restored: string[] = []
  const unknown: string[] = []
  const config = mapTexts(sent as Json, (text, path) => {
    const secret = text.includes(masked) ? previous.get(path.join('\0')) : undefined
    if (secret === undefined) return text
    const whole = unmasked(text, textAt(before.config as Json, path), secret)
    if (whole === undefined) unknown.push(printed(path))
    else restored.push(printed(path))
    return whole ?? text
  })
  return { config: config as object, restored, unknown }
}

/** The paths of texts that still contain a mask where a secret should be. */
export function maskedPaths(config: object, secrets: readonly string[]): string[] {
  const paths: string[] = []
  const masks = secrets.filter((secret) => secret.includes(masked))
  mapTexts(config as Json, (text, path) => {
    if (masks.some((mask) => text.includes(mask))) paths.push(printed(path))
    return text
  })
  return paths
}

/**
 * The sent text with its secrets. Each mask must follow the same text as before, such as `key=`. Otherwise a secret could
 * be sent in the place of another.
 */
function unmasked(sent: string, shown: string, whole: string): string | undefined {
  if (sent === shown) return whole
  const secrets = hiddenParts(shown, whole)
  const parts = sent.split(masked)
  if (secrets === undefined || !isSameList(labels(parts), labels(shown.split(masked)))) return undefined
  return parts.map((part, index) => `${part}${secrets[index] ?? ''}`).join('')
}

const labels = (parts: readonly string[]) => parts.slice(0, -1).map((part) => /[^?&#]*$/.exec(part)?.[0] ?? '')

const isSameList = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((item, index) => item === other[index])

/** What the masks of a shown text stand for. */
function hiddenParts(shown: string, whole: string): string[] | undefined {
  const pattern = shown.split(masked).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${pattern.join('(.*?)')}$`, 's').exec(whole)?.slice(1)
}

/** `mcp.args[1]` */
const printed = (path: readonly string[]) =>
  path.map((key, index) => (/^\d+$/.test(key) ? `[${key}]` : index === 0 ? key : `.${key}`)).join('')

function mapTexts(value: Json, change: (text: string, path: string[]) => string, path: string[] = []): Json {
  if (typeof value === 'string') return change(value, path)
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, change, [...path, String(index)]))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapTexts(inner, change, [...path, key])]))
}

function withText(value: Json, [key, ...rest]: readonly string[], text: string): Json {
  if (key === undefined) return text
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === key ? withText(item, rest, text) : item))
  return isObject(value) ? { ...value, [key]: withText(value[key] ?? null, rest, text) } : value
}

function textAt(value: Json, path: readonly string[]): string {
  const found = path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], value)
  return typeof found === 'string' ? found : ''
}
