import { describeSettings } from '../../src/config.ts'
import { catalogue } from '../../src/model/errors.ts'
import { type Operation, routeOf } from '../../src/operations/operation.ts'
import { Metrics } from '../../src/server/metrics.ts'
import { moduleOf } from '../../src/surfaces/rest/openapi.ts'
import { nameOf } from '../../src/surfaces/rest/schemas.ts'
import { fieldsOf, innerRowsOf, propertiesOf, type Row, rowOf, type Schema } from './fields.ts'
import { pageItem, type Spec } from './sdk.ts'

const origin = (source: string) => `<!-- Generated from ${source} by npm run generate. Do not edit. -->`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`)
    .join('\n')

const code = (text: string) => (text === '' ? '' : `\`${text}\``)

export const printErrors = (): string => `${origin('src/model/errors.ts')}

# Errors

Every error response is \`{"error": {"code", "message", "details"}}\`. The message says what happened and what to do
next. Use the code in programs: a released code keeps its meaning.

${table(
  ['Code', 'Status', 'Meaning'],
  Object.entries(catalogue).map(([name, { status, says }]) => [code(name), String(status), says]),
)}

The SDK and the command line add three codes for requests without a usable response:

${table(
  ['Code', 'Meaning'],
  [
    ['`NETWORK`', 'The platform could not be reached, or the connection was lost.'],
    ['`ABORTED`', 'The request was aborted by its signal.'],
    ['`UNEXPECTED_ANSWER`', 'The response does not come from Quartermaster, but for example from a proxy.'],
  ],
)}
`

export const printConfig = (): string => `${origin('src/config.ts')}

# Configuration

Settings of \`quartermaster up\`. Flags take precedence over environment variables. An empty variable counts as not set.

${table(
  ['Flag', 'Environment', 'Default', 'Description'],
  describeSettings().map((setting) => [
    code(setting.flag),
    code(setting.variable),
    code(setting.default),
    setting.help,
  ]),
)}

The other commands connect to a running platform and read:

${table(
  ['Flag', 'Environment', 'Default', 'Description'],
  [
    ['`--url`', '`QM_URL`', '`http://127.0.0.1:4600`', 'URL of the platform'],
    ['`--key`', '`QM_KEY`', '', 'API key'],
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

Prometheus metrics at \`GET /metrics\`, in addition to the default metrics of a Node process. Counters and histograms belong to
one process, so add up those of all replicas. Metrics about the whole database are the same in each process.

${table(
  ['Metric', 'Type', 'Labels', 'Description'],
  metrics.describe().map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(', '), help]),
)}
`
}

export function printOperations(operations: readonly Operation[], spec: Spec): string {
  const modules = [...Map.groupBy(operations, moduleOf)]
  return `${origin('src/operations')}

# Operations

Each operation is a REST route under \`/api/v1\`, a \`quartermaster\` command, a method of the SDK and, unless it returns bytes,
events or a secret, an action that platform tools can offer.

${modules.map(([name]) => `- [${name}](#${name})`).join('\n')}

${modules.map(([name, members]) => `## ${name}\n\n${members.map((one) => describe(one, spec)).join('\n')}`).join('\n')}`
}

/** Prints docs/reference/types.md: the named types of the OpenAPI document. */
export function printTypesReference({ paths, components: { schemas } }: Spec): string {
  const bodies = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .map(({ requestBody }) => nameOf(requestBody?.content['application/json']?.schema ?? {}))
  const named = Object.entries(schemas).filter(
    ([name, schema]) => name !== 'Error' && !bodies.includes(name) && !pageItem(schema),
  )
  return `${origin('src/operations')}

# Types

The named schemas of the OpenAPI document, which the SDK exports as TypeScript types. A page of a type, as in \`ToolPage\`, has
\`data\`, the items, and \`total\`, \`limit\` and \`offset\`. The bodies of operations that create and change something, as in
\`NewTool\` and \`ToolChanges\`, are in [operations.md](operations.md).

${named.map(([name, schema]) => `## ${name}\n\n${typeReference(schema)}\n`).join('\n')}`
}

function typeReference(schema: Schema): string {
  const rows = propertiesOf(schema).flatMap((property) => [rowOf(property), ...innerRowsOf(property)])
  const text = String(schema.description ?? '')
  const body =
    rows.length === 0
      ? code(rowOf({ name: '', schema, required: true }).type)
      : table(
          ['Field', 'Type', 'Required', 'Description'],
          rows.map(({ name, type, required, description }) => [
            code(name),
            linked(type),
            required ? 'yes' : '',
            description,
          ]),
        )
  return text === '' ? body : `${text}\n\n${body}`
}

/** A type, as a link if it has a name. It may be a list or nullable. */
const linked = (type: string): string => {
  const name = /^([A-Z]\w+)(\[\])?( \| null)?$/.exec(type)?.[1]
  return name === undefined ? code(type) : `[${code(type)}](types.md#${name.toLowerCase()})`
}

/** The type of the response of an operation, if it has a name. */
function answerOf(operation: Operation, { paths, components }: Spec): string[] {
  const { method, path } = routeOf(operation)
  const { responses } = paths[path]?.[method.toLowerCase()] ?? {}
  const name = nameOf(responses?.[operation.status]?.content?.['application/json']?.schema ?? {})
  if (name === undefined) return []
  const item = pageItem(components.schemas[name] ?? {})
  return [`returns ${item ? `a page of ${linked(nameOf(item) as string)}` : linked(name)}`]
}

function describe(operation: Operation, spec: Spec): string {
  const facts = [
    `Route ${code(operation.route)}`,
    `command ${code(`quartermaster ${operation.name}`)}`,
    `permission ${code(operation.permission)}`,
    ...answerOf(operation, spec),
  ]
  const rows = fieldsOf(operation).flatMap((field) => [
    { where: field.where, row: rowOf(field) },
    ...innerRowsOf(field).map((row) => ({ where: field.where, row })),
  ])
  const notes = [
    ...(operation.accepts === 'bytes' ? ['The request body is the content itself, not JSON.'] : []),
    ...(operation.answers === 'bytes' ? ['The response is the content itself, not JSON.'] : []),
    ...(operation.answers === 'events' ? ['The response is a stream of server-sent events.'] : []),
    ...(operation.secretFields ? [`Returned only once: ${operation.secretFields.map(code).join(', ')}.`] : []),
  ]
  const fields =
    rows.length === 0 ? [] : [table(['Field', 'In', 'Type', 'Required', 'Default', 'Description'], rows.map(cells))]
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

/** Prints docs/reference/permissions.md: the values of `action` in an access policy, each with its operations. */
export function printPermissions(permissions: ReadonlySet<string>, operations: readonly Operation[]): string {
  const modules = [...Map.groupBy(permissions, (permission) => permission.split(':')[0] as string)]
  const operationsOf = (permission: string) => operations.filter((operation) => operation.permission === permission)
  const rows = (names: readonly string[]) =>
    names.map((name) => [
      code(name),
      operationsOf(name)
        .map((operation) => `[${operation.name}](operations.md#${operation.name})`)
        .join(', '),
      operationsOf(name)
        .map(({ route }) => code(route))
        .join(', '),
    ])
  return `${origin('src/operations')}

# Permissions

Values for \`action\` in a statement of an access policy: one of these, a whole module such as \`tools:*\`, or \`*\`.
Everything is denied unless a statement allows it, and a \`Deny\` overrides every \`Allow\`.

${modules.map(([name, names]) => `## ${name}\n\n${table(['Permission', 'Command', 'Route'], rows(names))}\n`).join('\n')}`
}
