import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { ApiServer, ServerVariable } from './operation.ts'

/** The first server that can be called over HTTP. */
export function readServer(servers: Json | undefined): ApiServer | undefined {
  if (!Array.isArray(servers)) return undefined
  for (const one of servers) {
    const found = isObject(one) ? readOne(one) : undefined
    if (found) return found
  }
  return undefined
}

function readOne({ url, variables }: JsonObject): ApiServer | undefined {
  if (typeof url !== 'string' || (/^[a-z][a-z0-9+.-]*:/i.test(url) && !/^https?:/i.test(url))) return undefined
  const known = isObject(variables) ? Object.entries(variables) : []
  return { url, variables: Object.fromEntries(known.flatMap(([name, one]) => readVariable(name, one as Json))) }
}

function readVariable(name: string, variable: Json): [string, ServerVariable][] {
  if (!isObject(variable)) return []
  const values = Array.isArray(variable.enum) ? variable.enum.map(String) : []
  const value = variable.default ?? values[0]
  if (value === undefined || value === null || typeof value === 'object') return []
  return [[name, { default: String(value), ...(values.length > 0 && { enum: values }) }]]
}

/** Why a server has no URL that a request can be sent to. */
export class NoServer extends Error {}

/** The URL of a server with its variables filled in, relative to the URL of the document. Throws `NoServer`. */
export function serverUrl(
  { url, variables }: ApiServer,
  { base, values = {} }: { readonly base?: string | undefined; readonly values?: Readonly<Record<string, string>> },
): string {
  const filled = url.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : variables[name]?.default
    if (value === undefined) throw new NoServer(`the server variable "${name}" has no default`)
    return value
  })
  const found = URL.parse(filled.startsWith('//') ? `https:${filled}` : filled, base)
  if (!found) throw new NoServer(`the server URL "${filled.slice(0, 200)}" is relative, and the document has no URL`)
  if (found.protocol !== 'https:' && found.protocol !== 'http:') {
    throw new NoServer(`the server URL starts with ${found.protocol}//, but only http and https can be called`)
  }
  if (found.username !== '' || found.password !== '') throw new NoServer('the server URL contains credentials')
  found.hash = ''
  return found.href.replace(/\/$/, '')
}
