import { parentPort } from 'node:worker_threads'
import type { JsonObject } from '../lib/json.ts'
import { type BoundedCheck, InvalidSchema, SchemaCompiler } from './schema-compiler.ts'
import type { SchemaJob, SchemaResult } from './schema-threads.ts'

/** What one check may cost here: a second or two. */
const mostWork = 20_000_000
const mostKept = 20

const compiler = new SchemaCompiler()
const compiled = new Map<string, BoundedCheck>()

parentPort?.on('message', (job: SchemaJob) => parentPort?.postMessage(resultOf(job)))

function resultOf(job: SchemaJob): SchemaResult {
  try {
    if (job.task === 'faults') return { faults: compiler.faultsOf(JSON.parse(job.schema) as JsonObject) }
    return { faults: checkOf(job.schema)(JSON.parse(job.input), mostWork) }
  } catch (error) {
    if (error instanceof InvalidSchema) return { invalid: error.message }
    throw error
  }
}

/** Of a schema that was used lately, as it was compiled then. */
function checkOf(schema: string): BoundedCheck {
  const check = compiled.get(schema) ?? compiler.compile(JSON.parse(schema) as JsonObject)
  compiled.delete(schema)
  compiled.set(schema, check)
  const [oldest] = compiled.keys()
  if (compiled.size > mostKept && oldest !== undefined) compiled.delete(oldest)
  return check
}
