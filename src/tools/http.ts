import { z } from 'zod'
import { inject } from '../credentials/inject.ts'
import { maskedUrl, redactorOf } from '../credentials/tool-secrets.ts'
import { lineageHeader } from '../http/lineage.ts'
import type { OutboundResponse } from '../http/outbound.ts'
import { excessOf, type Json, type JsonObject } from '../lib/json.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { done, Execute, type Output } from '../model/tool.ts'
import type { ToolRecord } from '../store/tools.ts'
import { contextHeaders, defineToolType } from './tool-type.ts'

/** Sends the call's input to an address: in the path, then as a query or as a JSON body, by the method's custom. */
export const http = defineToolType({
  type: 'http',
  many: false,
  config: z.object({ parameters: z.unknown(), execute: Execute }),

  check: ({ execute }) => (execute ? [...checkUrl(execute.url), ...checkHeaders(execute.headers ?? {})] : []),

  actions: ({ name, description, parameters, execute }) => [
    {
      name,
      description,
      schema: parameters ?? {},
      idempotent: isRead(execute),
      destructive: !isRead(execute),
    },
  ],

  async execute({ tool, input, signal, callId, depth, context }, { outbound, findSecret, lineage }) {
    const execute = tool.execute as Execute
    const { url, rest } = fill(execute.url, input)
    const inBody = execute.method === 'POST' || execute.method === 'PUT' || execute.method === 'PATCH'
    if (!inBody) appendQuery(url, rest)
    const own = lowerCased(inject(execute.headers ?? {}, findSecret(tool.project_id)))
    // The address is part of it: some services take their key in the query.
    const owner = { project: tool.project_id, credentials: ['http', execute.url, own] }
    const response = await outbound.client(owner).request({
      url,
      method: execute.method,
      headers: {
        accept: 'application/json, text/*;q=0.9, */*;q=0.5',
        'user-agent': 'quartermaster',
        ...(inBody && { 'content-type': 'application/json' }),
        ...own,
        ...contextHeaders(context),
        [lineageHeader]: lineage.print({ callId, depth }),
      },
      body: inBody ? JSON.stringify(rest) : undefined,
      signal,
    })
    if (response.status < 200 || response.status > 299) throw refused(tool, response)
    return execute.method === 'HEAD'
      ? done({ status: response.status, headers: { ...response.headers } })
      : read(response)
  },
})

const isRead = (execute: Execute | null) => execute?.method === 'GET' || execute?.method === 'HEAD'

const placeholder = /\{([A-Za-z0-9_.-]+)\}/g

/** The part of a URL that says whom to ask; no argument may change it. */
const authority = (url: string) => /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(url)?.[0] ?? ''

function checkUrl(url: string): Fault[] {
  const path = 'execute.url'
  if (!/^https?:\/\//i.test(url)) return [{ path, message: 'must begin with http:// or https://' }]
  if (/[{}]/.test(authority(url))) {
    return [{ path, message: 'may have {placeholders} in its path and query only, not in its host' }]
  }
  if (authority(url).includes('@')) return [{ path, message: 'must not hold a user name or password; use headers' }]
  // Whatever the arguments are, the same host is asked: spellings such as "http:///{host}" would leave that to them.
  const [one, other] = ['a.example', 'b.example'].map((value) => URL.parse(url.replaceAll(placeholder, value)))
  if (!one || !other) return [{ path, message: 'is not a valid address' }]
  return one.origin === other.origin ? [] : [{ path, message: 'must name its host' }]
}

/** Headers that belong to the connection or to the platform, not to the request. */
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
    .map((name) => ({ path: `execute.headers.${name}`, message: 'is set by the platform itself' }))

/** Puts arguments into the address. Returns the rest of them, which go into the query or the body. */
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
    faults.push({ path: name, message: 'is missing, and the address needs it' })
    return ''
  })
  // A dotted part would climb out of the path that the tool was given, however it is written.
  if (/(^|\/)(\.|%2e){1,2}(\/|$)/i.test(path.slice(authority(path).length))) {
    faults.push({ path: '', message: 'an argument may not make "." or ".." a part of the address' })
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

/** What stands in the address is fixed: were the name there twice, some servers would take the argument for it. */
function appendQuery(url: URL, input: JsonObject): void {
  const fixed = new Set(url.searchParams.keys())
  const pairs = Object.entries(input).flatMap(([name, value]) =>
    (fixed.has(name) ? [] : Array.isArray(value) ? value : [value]).flatMap((one) =>
      one === null || one === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(asText(one))}`],
    ),
  )
  if (pairs.length > 0) url.search = [url.search.slice(1), ...pairs].filter((part) => part !== '').join('&')
}

/** An argument as it stands in an address. Lone halves of a character pair cannot be encoded, so they are replaced. */
function asText(value: Json): string {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.join(',').toWellFormed()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const lowerCased = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

function read({ headers, body }: OutboundResponse): Output {
  if (body.byteLength === 0) return done(null)
  const type = (headers['content-type'] ?? '').toLowerCase()
  const isJson = /[/+]json\b/.test(type)
  if (!isJson && type !== '' && !/^text\/|xml|javascript|x-www-form-urlencoded/.test(type)) {
    return done({ content_type: type, size: body.byteLength, base64: body.toString('base64') })
  }
  const text = body.toString('utf8').replace(/^\uFEFF/, '')
  return isJson || type === '' ? parsed(text) : done(text)
}

function parsed(text: string): Output {
  const excess = excessOf(text, Number.POSITIVE_INFINITY)
  if (excess !== undefined) throw new PlatformError('RESPONSE_TOO_COMPLEX', { reason: excess })
  try {
    return done(JSON.parse(text), text)
  } catch {
    return done(text)
  }
}

const longestError = 16_384

/** Secrets are taken out before the body is cut, because half of one would not be found. */
function refused(tool: Pick<ToolRecord, 'execute' | 'mcp'>, { status, body }: OutboundResponse): PlatformError {
  const execute = tool.execute as Execute
  const redactor = redactorOf(tool)
  const text = redactor.text(body.subarray(0, 2 * longestError).toString('utf8'))
  const whole = redactor.value(parsed(text).value)
  return new PlatformError('TOOL_HTTP_ERROR', {
    tool_status_code: status,
    // As registered, because the filled-in address may hold preset values; and without what is fixed in its query.
    tool_url: maskedUrl(execute.url),
    tool_method: execute.method,
    tool_response_body: text.length <= longestError ? whole : text.slice(0, longestError),
  })
}
