import type { JsonObject } from '../lib/json.ts'
import type { Fault } from '../model/errors.ts'
import { largestSchema, SchemaCompiler, unchecked } from './schema-compiler.ts'
import { SchemaThreads } from './schema-threads.ts'

/**
 * Returns the faults of an input; empty if it is valid. Synchronous for a small schema and a small input, which is the
 * common case. Otherwise a worker thread does the work.
 */
export type Check = (input: unknown) => readonly Fault[] | Promise<readonly Fault[]>

/** The maximum size of a schema that is compiled on the main thread: about 50 ms of work at worst. */
const largestHere = 8 * 1024
/** The limit of one check on the main thread, in units of at most 50 ns. Beyond that, a worker thread repeats the check. */
const maxWorkHere = 1_000_000

/** Compiles and checks untrusted schemas without blocking the main thread for long. */
export class Schemas {
  readonly #compiler = new SchemaCompiler()
  readonly #threads = new SchemaThreads()

  /** Throws `InvalidSchema`, now or when the check is first used. */
  compile(schema: JsonObject): Check {
    const text = JSON.stringify(schema)
    if (text.length > largestSchema) return () => []
    const elsewhere = async (input: unknown) =>
      (await this.#threads.run({ task: 'check', schema: text, input: JSON.stringify(input) })) ?? unchecked
    if (text.length > largestHere) return elsewhere
    const check = this.#compiler.compile(schema)
    return (input) => check(input, maxWorkHere) ?? elsewhere(input)
  }

  /** The faults of a schema, for someone who can fix it. Paths are within the schema. */
  async faultsOf(schema: JsonObject): Promise<readonly Fault[]> {
    const text = JSON.stringify(schema)
    if (text.length > largestSchema)
      return [{ path: '', message: `is larger than ${largestSchema} characters of JSON` }]
    if (text.length <= largestHere) return this.#compiler.faultsOf(schema)
    const faults = await this.#threads.run({ task: 'faults', schema: text })
    return faults ?? [{ path: '', message: 'is too complex to compile: make it smaller, or move parts to $defs' }]
  }

  close(): Promise<void> {
    return this.#threads.close()
  }
}
