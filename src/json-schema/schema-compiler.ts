import { Ajv, type ErrorObject } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonObject } from '../lib/json.ts'
import type { Fault } from '../model/errors.ts'
import { addFormats } from './formats.ts'
import { Meter, metered, TooMuchWork } from './meter.ts'
import { matcherOf, UnsupportedPattern } from './pattern.ts'
import { pathOf, relaxed } from './relax.ts'

/** Lists everything that is wrong with an input, or nothing where that would take more work than it may. */
export type BoundedCheck = (input: unknown, mostWork: number) => readonly Fault[] | undefined

/** Characters of JSON that a schema may have. */
export const largestSchema = 128 * 1024
/** Faults that are collected before a check stops, and those that are reported. */
const mostFound = 200
const mostReported = 100

/** What is wrong with an input that cannot be checked. */
export const unchecked: readonly Fault[] = [
  { path: '', message: 'is too large, or its schema too complex, to be validated: send less at once' },
]

/** A schema that is not one; the message says why. */
export class InvalidSchema extends Error {}

/**
 * Compiles the schemas that users bring: 2020-12, or the older draft that a schema names. They come from people and from
 * other machines, so no schema and no input can make a check take long: patterns run in linear time, and work is counted.
 * It keeps whoever calls it waiting; `Schemas` decides what may run on the main thread.
 */
export class SchemaCompiler {
  readonly #judges = new Map<typeof Ajv, Ajv>()

  /** What a schema asks for and cannot be checked in a bounded time is left to the tool. */
  compile(schema: JsonObject): BoundedCheck {
    try {
      const { check, unsupported } = this.#compile(schema)
      if (unsupported.length === 0) return check
      return this.#compile(relaxed(schema, new Set(unsupported.map(({ pattern }) => pattern)))).check
    } catch (error) {
      // Ajv calls itself for what is nested, and for long lists too.
      if (error instanceof RangeError) return () => []
      throw new InvalidSchema((error as Error).message, { cause: error })
    }
  }

  /** What speaks against accepting a schema from someone who can change it; paths are within the schema. */
  faultsOf(schema: JsonObject): Fault[] {
    try {
      const { unsupported } = this.#compile(schema)
      return unsupported.map(({ pattern, message }) => ({ path: pathOf(pattern, schema), message }))
    } catch (error) {
      if (error instanceof RangeError) return [{ path: '', message: 'is too complex to be checked' }]
      return [{ path: '', message: `is not a JSON Schema: ${(error as Error).message}` }]
    }
  }

  #compile(schema: JsonObject): Compiled {
    // It would turn the check into a promise, which is not an answer.
    if (schema.$async !== undefined) throw new Error('"$async" is not a keyword of JSON Schema')
    const Compiler = compilerFor(schema)
    this.#judge(Compiler).validateSchema(schema, true)
    return compileWith(Compiler, schema)
  }

  /** Knows what a schema looks like, which is itself written as a schema and takes long to compile. */
  #judge(Compiler: typeof Ajv): Ajv {
    let judge = this.#judges.get(Compiler)
    if (!judge) {
      judge = new Compiler({ strict: false, logger: false })
      addFormats(judge)
      this.#judges.set(Compiler, judge)
    }
    return judge
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
  // One for each schema: what it keeps goes with it, and schemas of the same $id do not meet.
  const ajv = new Compiler({
    allErrors: true,
    strict: false,
    logger: false,
    validateSchema: false,
    // Written out at each of its places, a definition makes a small schema a large one.
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
      // What V8 throws when a schema refers to itself without end.
      if (stopped instanceof RangeError) return unchecked
      throw stopped
    }
  }
  return { check, unsupported }
}

/**
 * In the code that Ajv generates: a million faults are of no more use than the first few, and fill the memory. It depends
 * on what that code looks like, so there is a test for each form (schema-compiler.test.ts).
 */
const stopAtMost = (code: string) =>
  code.replaceAll(/(?<=[;}]\s*)errors(?:\+\+| = vErrors\.length);/g, `$&if (errors > ${mostFound}) throw vErrors;`)

function inShort(errors: readonly ErrorObject[], end: 'complete' | 'stopped'): Fault[] {
  const faults = errors.slice(0, mostReported).flatMap(toFault)
  const left = errors.length - mostReported
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
