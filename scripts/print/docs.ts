import { describeSettings } from '../../src/config.ts'
import { catalogue } from '../../src/model/errors.ts'
import type { Operation } from '../../src/operations/operation.ts'
import { Metrics } from '../../src/server/metrics.ts'
import { moduleOf } from '../../src/surfaces/rest/openapi.ts'
import { fieldsOf, innerRowsOf, type Row, rowOf } from './fields.ts'

const origin = (source: string) =>
  `<!-- Printed from ${source} by "npm run generate". Change it there, and print again. -->`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`)
    .join('\n')

const code = (text: string) => (text === '' ? '' : `\`${text}\``)

export const printErrors = (): string => `${origin('src/model/errors.ts')}

# Errors

Every error is answered as \`{"error": {"code", "message", "details"}}\`. The message says what happened and what to do
next; the code is for programs, and once released it keeps its meaning.

${table(
  ['Code', 'Status', 'Says'],
  Object.entries(catalogue).map(([name, { status, says }]) => [code(name), String(status), says]),
)}

The SDK and the command line add three of their own, for when there is no answer to read:

${table(
  ['Code', 'Says'],
  [
    ['`NETWORK`', 'The platform could not be reached, or the connection broke off.'],
    ['`ABORTED`', 'The caller’s own signal ended the request.'],
    ['`UNEXPECTED_ANSWER`', 'Something answered that is not a Quartermaster, such as a proxy or another service.'],
  ],
)}
`

export const printConfig = (): string => `${origin('src/config.ts')}

# Configuration

What \`quartermaster up\` reads. A flag wins over the environment; an empty variable is one that was not set.

${table(
  ['Flag', 'Environment', 'Default', 'What it is'],
  describeSettings().map((setting) => [
    code(setting.flag),
    code(setting.variable),
    code(setting.default),
    setting.help,
  ]),
)}

The other commands speak to a platform that runs, and read:

${table(
  ['Flag', 'Environment', 'Default', 'What it is'],
  [
    ['`--url`', '`QM_URL`', '`http://127.0.0.1:4600`', 'Where the platform is'],
    ['`--key`', '`QM_KEY`', '', 'The API key to speak with'],
  ],
)}
`

export function printMetrics(): string {
  const metrics = new Metrics()
  const none = async () => 0
  metrics.watchWaiting({ approvals: none, deliveries: none })
  metrics.watchGenerations(() => 0)
  metrics.watchUpstreams(() => [])
  return `${origin('src/server/metrics.ts')}

# Metrics

What Prometheus reads at \`GET /metrics\`, beside what every Node process tells of itself. Counters and histograms are of the
one process that is asked, so add up those of all replicas; what is counted in the whole database is the same for each.

${table(
  ['Metric', 'Type', 'Labels', 'What it is'],
  metrics.describe().map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(', '), help]),
)}
`
}

export function printOperations(operations: readonly Operation[]): string {
  const modules = [...Map.groupBy(operations, moduleOf)]
  return `${origin('src/operations')}

# Operations

Each is a REST route under \`/api/v1\`, a command of \`quartermaster\`, a method of the SDK, and, where its answer is
JSON that a model may see, an action that platform tools can offer.

${modules.map(([name]) => `- [${name}](#${name})`).join('\n')}

${modules.map(([name, members]) => `## ${name}\n\n${members.map(describe).join('\n')}`).join('\n')}`
}

function describe(operation: Operation): string {
  const facts = [
    `Route ${code(operation.route)}`,
    `command ${code(`quartermaster ${operation.name}`)}`,
    `permission ${code(operation.permission)}`,
  ]
  const rows = fieldsOf(operation).flatMap((field) => [
    { where: field.where, row: rowOf(field) },
    ...innerRowsOf(field).map((row) => ({ where: field.where, row })),
  ])
  const notes = [
    ...(operation.accepts === 'bytes' ? ['The body is the content itself, not JSON.'] : []),
    ...(operation.answers === 'bytes' ? ['The answer is the content itself, not JSON.'] : []),
    ...(operation.answers === 'events' ? ['The answer is a stream of server-sent events.'] : []),
    ...(operation.secretFields ? [`Shown this once: ${operation.secretFields.map(code).join(', ')}.`] : []),
  ]
  const fields =
    rows.length === 0 ? [] : [table(['Field', 'In', 'Type', 'Required', 'Default', 'What it is'], rows.map(cells))]
  return `### ${operation.name}\n\n${[`${operation.summary}.`, `${facts.join(', ')}.`, ...notes, ...fields].join('\n\n')}\n`
}

const cells = ({ where, row }: { where: string; row: Row }) => [
  code(row.name),
  where,
  code(row.type),
  row.required ? 'yes' : '',
  code(row.default),
  row.description,
]

/** What an access policy can name in `action`, and what each opens. */
export function printPermissions(permissions: ReadonlySet<string>, operations: readonly Operation[]): string {
  const modules = [...Map.groupBy(permissions, (permission) => permission.split(':')[0] as string)]
  const opens = (permission: string) => operations.filter((operation) => operation.permission === permission)
  const rows = (names: readonly string[]) =>
    names.map((name) => [
      code(name),
      opens(name)
        .map((operation) => `[${operation.name}](operations.md#${operation.name})`)
        .join(', '),
      opens(name)
        .map(({ route }) => code(route))
        .join(', '),
    ])
  return `${origin('src/operations')}

# Permissions

What a statement of an access policy can name in \`action\`: one of these, a whole module as in \`tools:*\`, or \`*\`.
Nothing is allowed unless a statement allows it, and a \`Deny\` wins over every \`Allow\`.

${modules.map(([name, names]) => `## ${name}\n\n${table(['Permission', 'Command', 'Route'], rows(names))}\n`).join('\n')}`
}
