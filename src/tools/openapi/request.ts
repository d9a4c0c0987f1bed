import type { Json, JsonObject } from '../../lib/json.ts'
import { type Fault, PlatformError } from '../../model/errors.ts'
import type { ApiOperation, Parameter } from './operation.ts'
import { encodeBody, type LoadFile } from './request-body.ts'
import type { Authentication } from './security.ts'
import { encode, inHeader, inPath, inQuery, type Pair } from './serialize.ts'

export interface ApiRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** Builds the request of an operation as its document says. */
export async function buildRequest(
  operation: ApiOperation,
  input: JsonObject,
  {
    server,
    authentication: { headers: authHeaders, query, cookies },
    loadFile,
  }: { readonly server: string; readonly authentication: Authentication; readonly loadFile: LoadFile },
): Promise<ApiRequest> {
  const at = (place: Parameter['in']) =>
    operation.parameters.flatMap((parameter): [Parameter, Json][] => {
      const value = Object.hasOwn(input, parameter.property) ? input[parameter.property] : undefined
      return parameter.in === place && value !== undefined && value !== null ? [[parameter, value]] : []
    })
  const pairs = [
    ...at('query').flatMap(([parameter, value]) => inQuery(parameter, value)),
    ...query.map(([name, value]): Pair => [encode(name), encode(value)]),
  ]
  const url = urlOf(server, pathOf(operation, at('path')), pairs)
  const cookie = [
    ...at('cookie').map(([parameter, value]) => `${parameter.name}=${encode(inHeader(parameter, value))}`),
    ...cookies.map(([name, value]) => `${name}=${encode(value)}`),
  ].join('; ')
  const used = new Set([...operation.parameters.map(({ property }) => property), operation.select ?? ''])
  const body = operation.body && (await encodeBody(operation.body, input, used, loadFile))
  return {
    method: operation.method,
    url,
    headers: {
      accept: operation.accept ?? '*/*',
      // A few services expect something else here than the encodings of HTTP.
      ...(!operation.parameters.some(isAcceptEncoding) && { 'accept-encoding': 'identity' }),
      ...Object.fromEntries(
        at('header').map(([parameter, value]) => [parameter.name.toLowerCase(), inHeader(parameter, value)]),
      ),
      ...(cookie !== '' && { cookie }),
      ...(body && { 'content-type': body.contentType }),
      ...authHeaders,
    },
    ...(body && { body: body.bytes }),
  }
}

const isAcceptEncoding = ({ in: place, name }: Parameter): boolean =>
  place === 'header' && name.toLowerCase() === 'accept-encoding'

function pathOf({ path }: ApiOperation, values: readonly [Parameter, Json][]): string {
  const known = new Map(values.map(([parameter, value]) => [parameter.name, { parameter, value }]))
  const faults: Fault[] = []
  // Some documents tell operations with the same path apart by a fragment.
  const filled = (path.split('#')[0] ?? '').replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
    const found = known.get(name)
    const text = found ? inPath(found.parameter, found.value) : ''
    if (text === '') faults.push({ path: found?.parameter.property ?? name, message: 'is missing: the URL needs it' })
    return text
  })
  // Dot segments, encoded or not, would leave the path of the operation.
  if (/(^|\/)(\.|%2e){1,2}(\/|\?|$)/i.test(filled)) {
    faults.push({ path: '', message: 'must not turn a part of the path into "." or ".."' })
  }
  if (faults.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors: faults })
  return filled
}

function urlOf(server: string, path: string, pairs: readonly Pair[]): URL {
  const url = new URL(server)
  const [before = '', query = ''] = path.split('?')
  url.pathname = url.pathname.replace(/\/$/, '') + before
  // Some documents declare what is in the query of a path once more as a parameter.
  const known = new Set(query.split('&').map((pair) => pair.split('=')[0]))
  const own = pairs.filter(([name]) => !known.has(name)).map(([name, value]) => `${name}=${value}`)
  url.search = [url.search.slice(1), query, ...own].filter((part) => part !== '').join('&')
  return url
}
