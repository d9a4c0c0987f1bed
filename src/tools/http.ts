import { z } from 'zod'
import { authorizedClient } from '../credentials/connections/authorization.ts'
import { withoutCredentials } from '../credentials/names.ts'
import { aboutCredentials, maskedUrl, maskedValues, secretsIn, secretsInUrl } from '../credentials/tool-secrets.ts'
import { lineageHeader } from '../http/lineage.ts'
import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { done, Headers, type ToolDraft } from '../model/tool.ts'
import { formHints } from './form-hints.ts'
import { readResponse, refused } from './http-response.ts'
import { checkParameters, Parameters } from './parameters.ts'
import { defineToolType, identityHeaders } from './tool-type.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** How a call becomes an HTTP request. */
export const Execute = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .max(8192)
      .meta({
        title: 'URL',
        description:
          'URL of the request. {name} is replaced by the argument of that name; other arguments go into the query or a JSON body',
      })
      .register(formHints, { placeholder: 'https://api.example.com/weather/{city}' }),
    method: z
      .preprocess((value) => (typeof value === 'string' ? value.toUpperCase() : value), z.enum(methods))
      .default('POST')
      .meta({ title: 'Method', default: 'POST' })
      .register(formHints, { initial: 'GET' }),
    headers: Headers.optional()
      .meta({ title: 'Headers', description: `Sent with every request. ${aboutCredentials}` })
      .register(formHints, { add: 'Add a header' }),
  })
  .meta({ title: 'Request', description: 'How an http tool makes its request' })
  .register(formHints, { rows: [['method', 'url'], ['headers']] })
type Execute = z.infer<typeof Execute>

/** Sends the input to a URL: in its path, and the rest in the query or in a JSON body, depending on the method. */
export const http = defineToolType({
  type: 'http',
  title: 'HTTP',
  description: 'An HTTP endpoint. The input becomes a request, and the response the output.',
  many: false,
  config: z.object({ parameters: Parameters, execute: Execute }),
  summary: ['execute.method', 'execute.url'],

  check: async (draft, { schemas }) => [
    ...(await checkParameters(draft, schemas)),
    ...checkUrl(draft.config.execute.url),
    ...checkPlaceholders(draft),
    ...checkHeaders(draft.config.execute.headers ?? {}),
  ],

  secrets: ({ execute }) => secretsOf(execute),

  secretsGoTo: ({ execute }) => authority(execute.url).toLowerCase(),

  masked: ({ parameters, execute }) => ({
    parameters,
    execute: { ...execute, url: maskedUrl(execute.url), ...maskedValues({ headers: execute.headers }) },
  }),

  fingerprint: ({ parameters, execute }) => ({
    parameters,
    execute: { ...execute, headers: withoutCredentials(execute.headers) },
  }),

  addresses: ({ execute }) => [execute.url],

  destination: ({ execute }) => ({ url: authority(execute.url), discovers: false }),

  actions: ({ name, description, config: { parameters, execute } }) => [
    {
      name,
      description,
      schema: parameters,
      idempotent: isRead(execute),
      destructive: !isRead(execute),
      readOnly: isRead(execute),
    },
  ],

  async execute(call, deps) {
    const { tool, config, redactor, authorization, input, signal, callId, depth, context } = call
    const { execute } = config
    const { outbound, lineage } = deps
    const { url, rest } = fill(execute.url, input)
    const inBody = execute.method === 'POST' || execute.method === 'PUT' || execute.method === 'PATCH'
    if (!inBody) appendQuery(url, rest)
    const own = lowerCased(execute.headers ?? {})
    // The URL counts as a credential, because some services expect their key in the query.
    const owner = { project: tool.project_id, credentials: ['http', execute.url, own, authorization?.key] }
    const http = outbound.client(owner)
    const response = await (authorization ? authorizedClient(http, authorization) : http).request({
      url,
      method: execute.method,
      headers: {
        accept: 'application/json, text/*;q=0.9, */*;q=0.5',
        'user-agent': 'quartermaster',
        ...(inBody && { 'content-type': 'application/json' }),
        ...own,
        ...identityHeaders(tool, context),
        [lineageHeader]: lineage.print({ callId, depth }),
      },
      body: inBody ? JSON.stringify(rest) : undefined,
      signal,
    })
    if (response.status < 200 || response.status > 299) {
      // The URL as registered, because the final one may contain presets, and with its fixed query values masked.
      throw refused({ url: maskedUrl(tool.config.execute.url), method: execute.method }, redactor, response)
    }
    return execute.method === 'HEAD'
      ? done({ status: response.status, headers: { ...response.headers } })
      : readResponse(response)
  },
})

const isRead = ({ method }: Execute) => method === 'GET' || method === 'HEAD'

const secretsOf = ({ headers, url }: Execute): string[] => [...secretsIn(headers), ...secretsInUrl(url)]

const placeholder = /\{([A-Za-z0-9_.-]+)\}/g

/** The scheme and host of a URL. No argument can change them. */
const authority = (url: string) => /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(url)?.[0] ?? ''

function checkUrl(url: string): Fault[] {
  const path = 'execute.url'
  if (!/^https?:\/\//i.test(url)) return [{ path, message: 'must start with http:// or https://' }]
  if (/[{}]/.test(authority(url))) {
    return [{ path, message: 'can have {placeholders} only in its path and query, not in its host' }]
  }
  if (authority(url).includes('@')) return [{ path, message: 'must not contain a user name or password: use headers' }]
  // The host must not depend on arguments. URLs such as "http:///{host}" would allow that.
  const [one, other] = ['a.example', 'b.example'].map((value) => URL.parse(url.replaceAll(placeholder, value)))
  if (!one || !other) return [{ path, message: 'is not a valid URL' }]
  return one.origin === other.origin ? [] : [{ path, message: 'has no host' }]
}

/** A placeholder in the path needs a value in every call. If the input has no such field, nobody knows to send it. */
function checkPlaceholders({
  config,
  preset_parameters,
}: ToolDraft<{ parameters: JsonObject; execute: Execute }>): Fault[] {
  const { parameters, execute } = config
  const { properties = {}, ...rest } = parameters
  if (!isObject(properties) || composing.some((keyword) => keyword in rest)) return []
  const known = new Set([...Object.keys(properties), ...Object.keys(preset_parameters ?? {})])
  const [path = ''] = execute.url.split(/[?#]/)
  const names = [...path.matchAll(placeholder)].map(([, name]) => name as string)
  return [...new Set(names)]
    .filter((name) => !known.has(name))
    .map((name) => ({
      path: 'execute.url',
      message: `contains {${name}}, but the input has no field of that name: add it to parameters.properties`,
    }))
}

/** With these, a schema can describe fields elsewhere. */
const composing = ['$ref', 'allOf', 'anyOf', 'oneOf', 'patternProperties', 'additionalProperties']

/** Headers that the connection or the platform sets. */
const notOurs = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
  lineageHeader,
])

const checkHeaders = (headers: Readonly<Record<string, string>>): Fault[] =>
  Object.keys(headers)
    .filter((name) => notOurs.has(name.toLowerCase()))
    .map((name) => ({ path: `execute.headers.${name}`, message: 'is set by the platform: remove it' }))

/** Fills arguments into the URL. Returns the rest of them, for the query or the body. */
function fill(template: string, input: JsonObject): { url: URL; rest: JsonObject } {
  if (!template.includes('{')) return { url: new URL(template), rest: input }
  const rest: JsonObject = { ...input }
  const faults: Fault[] = []
  const put = (text: string, whenMissing: (name: string) => string) =>
    text.replaceAll(placeholder, (_, name: string) => {
      const value = Object.hasOwn(input, name) ? input[name] : undefined
      delete rest[name]
      return value === undefined || value === null ? whenMissing(name) : encodeURIComponent(asText(value))
    })

  const [beforeHash = ''] = template.split('#')
  const cut = beforeHash.indexOf('?')
  const path = put(cut < 0 ? beforeHash : beforeHash.slice(0, cut), (name) => {
    faults.push({ path: name, message: 'is missing: the URL needs it' })
    return ''
  })
  // Dot segments, encoded or not, would escape the configured path.
  if (/(^|\/)(\.|%2e){1,2}(\/|$)/i.test(path.slice(authority(path).length))) {
    faults.push({ path: '', message: 'must not turn a part of the path into "." or ".."' })
  }
  if (faults.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors: faults })

  const missing = '\u0000'
  const query = (cut < 0 ? '' : beforeHash.slice(cut + 1))
    .split('&')
    .map((pair) => put(pair, () => missing))
    .filter((pair) => pair !== '' && !pair.includes(missing))
    .join('&')
  return { url: new URL(query === '' ? path : `${path}?${query}`), rest }
}

/** Parameters in the configured URL cannot be overridden: with duplicates, some servers would use the argument. */
function appendQuery(url: URL, input: JsonObject): void {
  const fixed = new Set(url.searchParams.keys())
  const pairs = Object.entries(input).flatMap(([name, value]) =>
    (fixed.has(name) ? [] : Array.isArray(value) ? value : [value]).flatMap((one) =>
      one === null || one === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(asText(one))}`],
    ),
  )
  if (pairs.length > 0) url.search = [url.search.slice(1), ...pairs].filter((part) => part !== '').join('&')
}

/** An argument as text in a URL. Lone surrogates cannot be encoded, so they are replaced. */
function asText(value: Json): string {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.join(',').toWellFormed()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const lowerCased = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
