import type { JsonObject } from '../lib/json.ts'
import type { Fault } from '../model/errors.ts'
import { largestSchema, SchemaCompiler, unchecked } from './schema-compiler.ts'
import { SchemaThreads } from './schema-threads.ts'

/**
 * Lists everything that is wrong with an input; empty when it is valid. At once for a small schema and a small input,
 * which is the common case; otherwise another thread does the work.
 */
export type Check = (input: unknown) => readonly Fault[] | Promise<readonly Fault[]>

/** Characters of JSON of a schema that is compiled on the main thread: at worst some 50 ms of work. */
const largestHere = 8 * 1024
/** What one check may cost on the main thread, in units of 50 ns at worst; beyond that another thread starts it again. */
const mostWorkHere = 1_000_000

/** The schemas that users bring, and where they are compiled and checked so that nobody else waits for it. */
export class Schemas {
  readonly #compiler = new SchemaCompiler()
  readonly #threads = new SchemaThreads()

  /** Throws `InvalidSchema`, now or when it is first used. */
  compile(schema: JsonObject): Check {
    const text = JSON.stringify(schema)
    if (text.length > largestSchema) return () => []
    const elsewhere = async (input: unknown) =>
      (await this.#threads.run({ task: 'check', schema: text, input: JSON.stringify(input) })) ?? unchecked
    if (text.length > largestHere) return elsewhere
    const check = this.#compiler.compile(schema)
    return (input) => check(input, mostWorkHere) ?? elsewhere(input)
  }

  /** What speaks against accepting a schema from someone who can change it; paths are within the schema. */
  async faultsOf(schema: JsonObject): Promise<readonly Fault[]> {
    const text = JSON.stringify(schema)
    if (text.length > largestSchema)
      return [{ path: '', message: `is larger than ${largestSchema} characters of JSON` }]
    if (text.length <= largestHere) return this.#compiler.faultsOf(schema)
    const faults = await this.#threads.run({ task: 'faults', schema: text })
    return faults ?? [{ path: '', message: 'is too complex to be compiled: make it smaller, or move parts to $defs' }]
  }

  close(): Promise<void> {
    return this.#threads.close()
  }
}
