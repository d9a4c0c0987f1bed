import { Ajv, type ErrorObject } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Fault } from '../model/errors.ts'
import type { JsonObject } from '../model/json.ts'
import { addFormats } from './formats.ts'
import { Meter, metered, TooMuchWork } from './meter.ts'
import { matcherOf, UnsupportedPattern } from './pattern.ts'
import { pathOf, relaxed } from './relax.ts'

/** Says everything that is wrong with an input; nothing when it is right. */
export type Check = (input: unknown) => readonly Fault[]

/** Characters of JSON. To compile more than this takes a second in which nobody else is answered. */
const largestSchema = 128 * 1024
/** What checking one input may cost, in looks at a character: about a second at the very worst. */
const mostWork = 20_000_000
/** Faults that are looked for, and those that are told. */
const mostFound = 10_000
const mostTold = 100

/**
 * Compiles the schemas that users bring: 2020-12, or the older draft that a schema names. They come from people and from
 * other machines, so no schema and no input can make a check take long: patterns run in linear time, and work is counted.
 */
export class Schemas {
  readonly #judges = new Map<typeof Ajv, Ajv>()

  /**
   * Throws a plain error that says what is wrong with the schema. What it asks for and cannot be checked in a bounded
   * time is not checked here: whoever runs the tool decides on it.
   */
  compile(schema: JsonObject): Check {
    if (isTooLarge(schema)) return () => []
    try {
      const { check, unsupported } = this.#compile(schema)
      if (unsupported.length === 0) return check
      return this.#compile(relaxed(schema, new Set(unsupported.map(({ pattern }) => pattern)))).check
    } catch (error) {
      // Ajv calls itself for what is nested, and for long lists too.
      if (error instanceof RangeError) return () => []
      throw error
    }
  }

  /** What speaks against taking a schema from someone who can change it; paths are within the schema. */
  faultsOf(schema: JsonObject): Fault[] {
    if (isTooLarge(schema)) return [{ path: '', message: `is larger than ${largestSchema} characters of JSON` }]
    try {
      const { unsupported } = this.#compile(schema)
      return unsupported.map(({ pattern, message }) => ({ path: pathOf(pattern, schema), message }))
    } catch (error) {
      if (error instanceof RangeError) return [{ path: '', message: 'is too involved to be checked' }]
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

const isTooLarge = (schema: JsonObject) => JSON.stringify(schema).length > largestSchema

function compilerFor({ $schema }: JsonObject): typeof Ajv {
  const draft = String($schema ?? '')
  if (/draft-0[67]/.test(draft)) return Ajv
  return (draft.includes('2019-09') ? Ajv2019 : Ajv2020) as unknown as typeof Ajv
}

interface Compiled {
  readonly check: Check
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
    code: { regExp: regExp as never, process: stopAtMost },
  })
  addFormats(ajv)
  const validate = metered(ajv, meter).compile(schema)
  const check: Check = (input) => {
    meter.left = mostWork
    try {
      return validate(input) === true ? [] : inShort(validate.errors ?? [])
    } catch (stopped) {
      if (Array.isArray(stopped)) return inShort(stopped)
      // The other is what V8 throws when a schema refers to itself without end.
      if (!(stopped instanceof TooMuchWork || stopped instanceof RangeError)) throw stopped
      return [{ path: '', message: 'is too large, or its schema too involved, to be checked' }]
    }
  }
  return { check, unsupported }
}

/** In the code that Ajv writes: a million faults are of no more use than the first few, and fill the memory. */
const stopAtMost = (code: string) =>
  code.replaceAll(/\berrors(?:\+\+| = vErrors\.length);/g, `$&if (errors > ${mostFound}) throw vErrors;`)

function inShort(errors: readonly ErrorObject[]): Fault[] {
  const faults = errors.slice(0, mostTold).flatMap(toFault)
  const left = errors.length - mostTold
  return left > 0 ? [...faults, { path: '', message: `and ${left > mostFound / 2 ? 'many' : left} more` }] : faults
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
