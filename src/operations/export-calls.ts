import type { CallSummary } from '../model/call.ts'
import type { Download } from './operation.ts'

type Cell = string | number | null

const columns: readonly (readonly [string, (call: CallSummary) => Cell])[] = [
  ['id', ({ id }) => id],
  ['created_at', ({ created_at }) => created_at],
  ['completed_at', ({ completed_at }) => completed_at],
  ['duration_ms', ({ duration_ms }) => duration_ms],
  ['status', ({ status }) => status],
  ['action', ({ action }) => action],
  ['tool', ({ tool }) => tool],
  ['tool_id', ({ tool_id }) => tool_id],
  ['app', ({ app }) => app],
  ['principal_name', ({ principal }) => principal.name],
  ['principal_id', ({ principal }) => principal.id],
  ['surface', ({ surface }) => surface],
  ['client_name', ({ client }) => client.name],
  ['client_version', ({ client }) => client.version],
  ['server_id', ({ server_id }) => server_id],
  ['agent_id', ({ agent_id }) => agent_id],
  ['generation_id', ({ generation_id }) => generation_id],
  ['parent_call_id', ({ parent_call_id }) => parent_call_id],
  ['project_id', ({ project_id }) => project_id],
  ['error_code', ({ error }) => error?.code ?? null],
  ['error_message', ({ error }) => error?.message ?? null],
]

/** Spreadsheets evaluate a cell that begins like a formula. A leading apostrophe makes it text. */
const isFormula = /^[=+\-@\t\r]/

function cellOf(value: Cell): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = isFormula.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const lineOf = (cells: readonly Cell[]): string => `${cells.map(cellOf).join(',')}\r\n`

async function* csv(batches: AsyncIterable<readonly CallSummary[]>): AsyncGenerator<string> {
  yield lineOf(columns.map(([name]) => name))
  for await (const calls of batches) yield calls.map((call) => lineOf(columns.map(([, of]) => of(call)))).join('')
}

async function* jsonLines(batches: AsyncIterable<readonly CallSummary[]>): AsyncGenerator<string> {
  for await (const calls of batches) yield calls.map((call) => `${JSON.stringify(call)}\n`).join('')
}

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) if (text !== '') yield Buffer.from(text)
}

/** Exports calls as a file, streamed batch by batch. */
export const exported = (format: 'csv' | 'jsonl', batches: AsyncIterable<readonly CallSummary[]>): Download =>
  format === 'csv'
    ? { bytes: encoded(csv(batches)), contentType: 'text/csv; charset=utf-8', name: 'calls.csv' }
    : { bytes: encoded(jsonLines(batches)), contentType: 'application/x-ndjson; charset=utf-8', name: 'calls.jsonl' }
