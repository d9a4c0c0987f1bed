/**
 * Sends requests for every operation of the corpus to an independent validator, without sending them anywhere: one with the
 * required fields, and one with all. A request that the validator refuses is counted as invalid, unless it can be proven that
 * the document contradicts itself or that the validator misreads the request. Each such proof has a name and a count.
 *
 *     npm ci --prefix bench/openapi
 *     node bench/openapi/judge-corpus.ts [minutes] [part of a name] [operations per document]
 */
import { readFileSync } from 'node:fs'
import { isObject, type Json, type JsonObject } from '../../src/lib/json.ts'
import { Api } from '../../src/tools/openapi/api.ts'
import { convert } from '../../src/tools/openapi/convert.ts'
import { readDocument } from '../../src/tools/openapi/document.ts'
import type { ApiOperation } from '../../src/tools/openapi/operation.ts'
import { corpus, nameOf } from './corpus.ts'
import { Judge } from './judge.ts'
import { Trial } from './trial.ts'

const minutes = Number(process.argv[2] ?? 60)
const wanted = process.argv[3] ?? ''
const perDocument = Number(process.argv[4] ?? Number.POSITIVE_INFINITY)

const counts = new Map<string, { count: number; example: string }>()
let documents = 0
let operations = 0
let requests = 0
let resampled = 0
const began = performance.now()
const isOver = () => performance.now() - began > minutes * 60_000

const files = corpus().filter((file) => nameOf(file).includes(wanted))
if (files.length === 0) throw new Error('The corpus is missing. Run: npm ci --prefix bench/openapi')
let notReached = 0
for (const file of files) {
  if (isOver()) notReached++
  else await judgeDocument(file)
}
print()

async function judgeDocument(file: string): Promise<void> {
  const text = readFileSync(file, 'utf8')
  const api = new Api(convert(readDocument(text)))
  const judge = new Judge(definitionOf(text))
  documents++
  const all = api.snapshot.operations
  const step = Math.max(1, Math.ceil(all.length / perDocument))
  for (const [index, operation] of all.entries()) {
    if (index % step !== 0) continue
    if (isOver()) break
    await judgeOperation(nameOf(file), operation, api, judge)
  }
}

async function judgeOperation(document: string, operation: ApiOperation, api: Api, judge: Judge): Promise<void> {
  operations++
  for (const fields of ['required', 'all'] as const) {
    const { result, detail, variants } = await new Trial(operation, api, judge, fields).run()
    requests++
    if (variants > 1 && result === 'valid') resampled++
    const known = counts.get(result) ?? { count: 0, example: `${document} ${operation.name} (${fields}) ${detail}` }
    counts.set(result, { ...known, count: known.count + 1 })
    if (process.env.VERBOSE && result.startsWith('invalid'))
      console.log(`${result}: ${document} ${operation.method} ${operation.path} (${fields}) ${detail}`)
  }
}

/** The document as it is. The judge does not know version 2.0. */
function definitionOf(text: string): JsonObject {
  try {
    const value: Json = JSON.parse(text)
    if (isObject(value) && typeof value.openapi === 'string') return value
  } catch {
    // YAML
  }
  return structuredClone(readDocument(text).root)
}

function print(): void {
  console.log(`\n${documents} documents (${notReached} not reached), ${operations} operations, ${requests} requests`)
  console.log(`${resampled} of the valid ones are not the first sample`)
  console.log(
    `${((performance.now() - began) / 1000).toFixed(0)} s, ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB\n`,
  )
  for (const [result, { count, example }] of [...counts].sort((a, b) => b[1].count - a[1].count)) {
    console.log(`${String(count).padStart(7)}  ${result}${result === 'valid' ? '' : `  (${example.slice(0, 300)})`}`)
  }
}
