import { Ajv, type ErrorObject } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonObject } from '../lib/json.ts'
import type { Fault } from '../model/errors.ts'
import { addFormats } from './formats.ts'
import { Meter, metered, TooMuchWork } from './meter.ts'
import { matcherOf, UnsupportedPattern } from './pattern.ts'
import { pathOf, relaxed } from './relax.ts'

/** Returns the faults of an input; undefined if checking it would exceed `mostWork`. */
export type BoundedCheck = (input: unknown, mostWork: number) => readonly Fault[] | undefined

/** The maximum size of a schema, in characters of JSON. */
export const largestSchema = 128 * 1024
/** The number of faults after which a check stops, and the number that is reported. */
const maxFound = 200
const maxReported = 100

/** The fault of an input that cannot be checked. */
export const unchecked: readonly Fault[] = [
  { path: '', message: 'is too large, or its schema is too complex, to be validated: send less data at a time' },
]

/** The schema is not a valid JSON Schema. The message says why. */
export class InvalidSchema extends Error {}

/**
 * Compiles schemas of users and upstream servers: 2020-12, or the older draft that a schema names. They are untrusted, so no
 * schema and no input can make a check take long: patterns run in linear time, and work is metered. It is synchronous;
 * `Schemas` decides what may run on the main thread.
 */
export class SchemaCompiler {
  readonly #validators = new Map<typeof Ajv, Ajv>()

  /** Skips constraints that cannot be checked in bounded time. The tool has to check them itself. */
  compile(schema: JsonObject): BoundedCheck {
    try {
      const { check, unsupported } = this.#compile(schema)
      if (unsupported.length === 0) return check
      return this.#compile(relaxed(schema, new Set(unsupported.map(({ pattern }) => pattern)))).check
    } catch (error) {
      // Stack overflow: Ajv is recursive for nested schemas, and for long lists too.
      if (error instanceof RangeError) return () => []
      throw new InvalidSchema((error as Error).message, { cause: error })
    }
  }

  /** The faults of a schema, for someone who can fix it. Paths are within the schema. */
  faultsOf(schema: JsonObject): Fault[] {
    try {
      const { unsupported } = this.#compile(schema)
      return unsupported.map(({ pattern, message }) => ({ path: pathOf(pattern, schema), message }))
    } catch (error) {
      if (error instanceof RangeError) return [{ path: '', message: 'is too complex to be validated' }]
      return [{ path: '', message: `is not a JSON Schema: ${(error as Error).message}` }]
    }
  }

  #compile(schema: JsonObject): Compiled {
    // Ajv would return a promise, which is truthy for any input.
    if (schema.$async !== undefined) throw new Error('"$async" is not a keyword of JSON Schema')
    const Compiler = compilerFor(schema)
    this.#validator(Compiler).validateSchema(schema, true)
    return compileWith(Compiler, schema)
  }

  /** Validates schemas against their meta-schema. Cached, because the meta-schema takes long to compile. */
  #validator(Compiler: typeof Ajv): Ajv {
    let validator = this.#validators.get(Compiler)
    if (!validator) {
      validator = new Compiler({ strict: false, logger: false })
      addFormats(validator)
      this.#validators.set(Compiler, validator)
    }
    return validator
  }
}

function compilerFor({ $schema }: JsonObject): typeof Ajv {
  const draft = String($schema ?? '')
  if (/draft-0[67]/.test(draft)) return Ajv
  return (draft.includes('2019-09') ? Ajv2019 : Ajv2020) as unknown as typeof Ajv
}

interface Compiled {
  readonly check: BoundedCheck
  readonly unsupported: readonly UnsupportedPattern[]
}

function compileWith(Compiler: typeof Ajv, schema: JsonObject): Compiled {
  const meter = new Meter()
  const unsupported: UnsupportedPattern[] = []
  const regExp = (pattern: string) => {
    try {
      const { test, cost } = matcherOf(pattern)
      return {
        toString: () => pattern,
        test(text: string) {
          meter.take((text.length + 1) * cost)
          return test(text)
        },
      }
    } catch (error) {
      if (!(error instanceof UnsupportedPattern)) throw error
      unsupported.push(error)
      return { toString: () => pattern, test: () => true }
    }
  }
  regExp.code = 'regExp'
  // One instance per schema: its caches are freed with it, and schemas with the same $id do not conflict.
  const ajv = new Compiler({
    allErrors: true,
    strict: false,
    logger: false,
    validateSchema: false,
    // Inlining a definition at each reference could turn a small schema into a large one.
    inlineRefs: false,
    code: { regExp: regExp as never, process: stopAtMost },
  })
  addFormats(ajv)
  const validate = metered(ajv, meter).compile(schema)
  const check: BoundedCheck = (input, mostWork) => {
    meter.left = mostWork
    try {
      return validate(input) === true ? [] : inShort(validate.errors ?? [], 'complete')
    } catch (stopped) {
      if (stopped instanceof TooMuchWork) return undefined
      if (Array.isArray(stopped)) return inShort(stopped, 'stopped')
      // Stack overflow: the schema refers to itself without end.
      if (stopped instanceof RangeError) return unchecked
      throw stopped
    }
  }
  return { check, unsupported }
}

/**
 * Patches the code that Ajv generates to stop after a number of faults: a million faults are no more useful than the first
 * few, and fill the memory. Depends on the form of that code, so there is a test for each form (schema-compiler.test.ts).
 */
const stopAtMost = (code: string) =>
  code.replaceAll(/(?<=[;}]\s*)errors(?:\+\+| = vErrors\.length);/g, `$&if (errors > ${maxFound}) throw vErrors;`)

function inShort(errors: readonly ErrorObject[], end: 'complete' | 'stopped'): Fault[] {
  const faults = errors.slice(0, maxReported).flatMap(toFault)
  const left = errors.length - maxReported
  return left > 0 ? [...faults, { path: '', message: `and ${end === 'stopped' ? 'many' : left} more` }] : faults
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
    // These only say that something inside failed, which is listed too.
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
