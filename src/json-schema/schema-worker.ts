import { parentPort } from 'node:worker_threads'
import type { JsonObject } from '../lib/json.ts'
import { type BoundedCheck, InvalidSchema, SchemaCompiler } from './schema-compiler.ts'
import type { SchemaJob, SchemaResult } from './schema-threads.ts'

/** The limit of one check: a second or two. */
const maxWork = 20_000_000
const maxKept = 20

const compiler = new SchemaCompiler()
const compiled = new Map<string, BoundedCheck>()

parentPort?.on('message', (job: SchemaJob) => parentPort?.postMessage(resultOf(job)))

function resultOf(job: SchemaJob): SchemaResult {
  try {
    if (job.task === 'faults') return { faults: compiler.faultsOf(JSON.parse(job.schema) as JsonObject) }
    return { faults: checkOf(job.schema)(JSON.parse(job.input), maxWork) }
  } catch (error) {
    if (error instanceof InvalidSchema) return { invalid: error.message }
    throw error
  }
}

/** Compiles a schema, or returns it from an LRU cache. */
function checkOf(schema: string): BoundedCheck {
  const check = compiled.get(schema) ?? compiler.compile(JSON.parse(schema) as JsonObject)
  compiled.delete(schema)
  compiled.set(schema, check)
  const [oldest] = compiled.keys()
  if (compiled.size > maxKept && oldest !== undefined) compiled.delete(oldest)
  return check
}
