import { Ajv, type ErrorObject } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Fault } from '../model/errors.ts'
import type { JsonObject } from '../model/json.ts'

/** Says everything that is wrong with an input; nothing when it is right. */
export type Check = (input: unknown) => readonly Fault[]

const options = { allErrors: true, strict: false, validateFormats: true, logger: false } as const

/** Compiles the schemas that users bring: 2020-12, or the older draft that a schema names. */
export class Schemas {
  /** Throws a plain error that says what is wrong with the schema. */
  compile(schema: JsonObject): Check {
    // It would turn the check into a promise, which is not an answer.
    if (schema.$async !== undefined) throw new Error('"$async" is not a keyword of JSON Schema')
    // One for each schema: what it keeps goes with it, and schemas of the same $id do not meet.
    const validate = compilerFor(schema).compile(schema)
    return (input) => (validate(input) === true ? [] : (validate.errors ?? []).flatMap(toFault))
  }
}

function compilerFor(schema: JsonObject): Ajv {
  const draft = String(schema.$schema ?? '')
  if (/draft-0[67]/.test(draft)) return withFormats(new Ajv(options))
  if (draft.includes('2019-09')) return withFormats(new Ajv2019(options))
  return withFormats(new Ajv2020(options))
}

function withFormats<A extends Ajv>(ajv: A): A {
  formats.default(ajv)
  return ajv
}

const toFault = (error: ErrorObject): Fault[] => {
  const at = inWords(error.instancePath)
  const below = (name: string) => inWords(`${error.instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  switch (error.keyword) {
    case 'required':
      return [{ path: below(error.params.missingProperty), message: 'is missing' }]
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return [
        {
          path: below(error.params.additionalProperty ?? error.params.unevaluatedProperty),
          message: 'is not a known field',
        },
      ]
    case 'enum':
      return [
        {
          path: at,
          message: `must be one of ${(error.params.allowedValues as unknown[]).map((v) => JSON.stringify(v)).join(', ')}`,
        },
      ]
    case 'const':
      return [{ path: at, message: `must be ${JSON.stringify(error.params.allowedValue)}` }]
    case 'type':
      return [{ path: at, message: `must be of type ${[error.params.type].flat().join(' or ')}` }]
    // These only say that something inside failed, and what failed is listed too.
    case 'if':
    case 'allOf':
      return []
    default:
      return [{ path: at, message: error.message ?? 'is not valid' }]
  }
}

/** `/rows/0/date` as `rows[0].date`. */
export const inWords = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`), '')
