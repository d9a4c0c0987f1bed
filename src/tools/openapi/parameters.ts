import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { NotCallable, type Parameter, type SecurityScheme } from './operation.ts'
import { followed } from './pointer.ts'

export interface FoundParameters {
  readonly parameters: readonly FoundParameter[]
  /** Security schemes whose credential is declared as a parameter, too. */
  readonly schemes: readonly string[]
}

export interface FoundParameter extends Omit<Parameter, 'property'> {
  readonly schema: Json | undefined
  readonly description: string | undefined
  readonly required: boolean
}

/** The styles of each place. The first one is the default. */
const styles: Readonly<Record<Parameter['in'], readonly string[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
}

/** Headers that OpenAPI excludes from parameters, and headers that the connection sets. */
const notParameters = new Set([
  ...['accept', 'content-type', 'authorization', 'host', 'content-length', 'connection', 'transfer-encoding'],
  ...['expect', 'keep-alive', 'upgrade', 'te', 'trailer', 'proxy-authorization'],
])

/**
 * The parameters of an operation, its own before those of its path. Credentials are left out, because they are added when
 * the request is made. Placeholders of the path that nobody declared are texts.
 */
export function readParameters(
  root: JsonObject,
  path: string,
  item: JsonObject,
  operation: JsonObject,
  security: Readonly<Record<string, SecurityScheme>>,
): FoundParameters {
  const known = new Map<string, FoundParameter>()
  const credentials = new Map(
    Object.entries(security).map(([scheme, one]) => [`${one.in} ${one.name?.toLowerCase()}`, scheme]),
  )
  const schemes = new Set<string>()
  const placeholders = new Set([...(path.split('#')[0] ?? '').matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name))
  for (const one of [...listOf(operation.parameters), ...listOf(item.parameters)]) {
    const parameter = readParameter(root, one)
    if (!parameter || known.has(`${parameter.in} ${parameter.name}`)) continue
    const lower = parameter.name.toLowerCase()
    if (parameter.in === 'header' && notParameters.has(lower)) continue
    // The platform has its own, unless the service wants another.
    if (parameter.in === 'header' && lower === 'user-agent' && !parameter.required) continue
    const scheme = parameter.in === 'path' ? undefined : credentials.get(`${parameter.in} ${lower}`)
    if (scheme !== undefined) {
      schemes.add(scheme)
      continue
    }
    if (parameter.in === 'path' && !placeholders.has(parameter.name)) continue
    known.set(`${parameter.in} ${parameter.name}`, parameter)
  }
  for (const name of placeholders) {
    if (!known.has(`path ${name}`)) known.set(`path ${name}`, undeclared(name))
  }
  // Required parameters first: a model reads them first.
  const all = [...known.values()]
  const ordered = [...all.filter(({ required }) => required), ...all.filter(({ required }) => !required)]
  return { parameters: ordered, schemes: [...schemes] }
}

const undeclared = (name: string): FoundParameter => ({
  ...{
    in: 'path',
    name,
    style: 'simple',
    explode: false,
    schema: { type: 'string' },
    description: undefined,
    required: true,
  },
})

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])

function readParameter(root: JsonObject, value: Json): FoundParameter | undefined {
  const parameter = followed(root, value)
  if (!parameter) {
    const reference = isObject(value) ? String(value.$ref ?? '') : ''
    throw new NotCallable(`a parameter refers to ${reference.slice(0, 200) || 'nothing'}, which is not in the document`)
  }
  const place = (['path', 'query', 'header', 'cookie'] as const).find((one) => one === parameter.in)
  const { name, description, style, explode, content } = parameter
  if (!place || typeof name !== 'string' || name === '') return undefined
  const [[type = '', media] = []] = isObject(content) ? Object.entries(content) : []
  const own = styles[place].find((one) => one === style) ?? (styles[place][0] as string)
  return {
    in: place,
    name,
    style: own,
    explode: typeof explode === 'boolean' ? explode : own === 'form' || own === 'deepObject',
    ...(parameter.allowReserved === true && { allowReserved: true }),
    ...(/json/i.test(type) && { json: true }),
    schema: isObject(media) ? media.schema : parameter.schema,
    description: typeof description === 'string' && description.trim() !== '' ? description.trim() : undefined,
    required: place === 'path' || parameter.required === true,
  }
}
