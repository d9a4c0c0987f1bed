import { exit } from './command.ts'
import { io, note, say } from './io.ts'
import { columnsOf, cut, harmless, isForPeople, oneLine, pad, paint, type Style, widthOf } from './terminal.ts'

type Fields = Readonly<Record<string, unknown>>

interface Page {
  readonly data: readonly Fields[]
  readonly total: number
  readonly limit: number
  readonly offset: number
}

export interface Printing {
  readonly json: boolean
  /** The columns of a list, most important first. */
  readonly columns?: readonly string[] | undefined
}

/** Prints a table or the fields of a record on a terminal, and one line of JSON elsewhere. */
export function print(data: unknown, { json, columns }: Printing): void {
  if (isForPeople(json)) say(forPeople(data, columns))
  else say(io().stdout.isTTY ? JSON.stringify(data, null, 2) : JSON.stringify(data))
}

/** Prints one value of a response by its path (`id`, `data.0.id`). Text is printed without quotes. Returns the exit code. */
export function printField(data: unknown, path: string): number {
  let value = data
  for (const name of path.split('.')) {
    const holder = typeof value === 'object' && value !== null ? (value as Fields) : {}
    if (!Object.hasOwn(holder, name)) {
      const names = Object.keys(holder)
      const hint = names.length > 0 && !Array.isArray(holder) ? ` Its fields: ${names.join(', ')}.` : ''
      note(`quartermaster: The response has no field "${path}".${hint}`)
      return exit.refused
    }
    value = holder[name]
  }
  say(typeof value === 'string' ? value : JSON.stringify(value))
  return exit.ok
}

function forPeople(data: unknown, columns: readonly string[] | undefined): string {
  if (isPage(data)) return pageText(data, columns)
  if (isFields(data) && Object.keys(data).length > 0) return record(data)
  return typeof data === 'string' ? harmless(data) : JSON.stringify(data, null, 2)
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isPage = (value: unknown): value is Page =>
  isFields(value) && Array.isArray(value.data) && value.data.every(isFields) && typeof value.total === 'number'

function pageText({ data, total, offset }: Page, columns: readonly string[] = defaultColumns(data)): string {
  if (data.length === 0) return paint('dim', total === 0 ? 'No results.' : `No more results. Total: ${total}.`)
  const shown = table(data, columns)
  const next = offset + data.length
  if (next >= total && offset === 0) return shown
  const more = next < total ? ` Show more with --offset ${next}.` : ''
  return `${shown}\n${paint('dim', `${offset + 1}–${next} of ${total}.${more}`)}`
}

const commonFields = ['name', 'slug', 'path', 'type', 'status', 'id', 'summary', 'description', 'url', 'created_at']

const defaultColumns = (data: readonly Fields[]): string[] =>
  commonFields.filter((name) => data.some((one) => one[name] !== undefined))

const statusStyles: Readonly<Record<string, Style>> = {
  success: 'green',
  completed: 'green',
  approved: 'green',
  used: 'green',
  pending: 'yellow',
  requires_action: 'yellow',
  rejected: 'red',
  failed: 'red',
  execution_error: 'red',
  validation_error: 'red',
  permission_denied: 'red',
}

const styled = (text: string): string => {
  const style = statusStyles[text.trim()]
  return style ? paint(style, text) : text
}

/** Aligned columns with headings, within the terminal's width. The widest columns are shortened first. */
export function table(
  data: readonly Fields[],
  columns: readonly string[],
  width: number = columnsOf(io().stdout),
): string {
  const cells = data.map((one) => columns.map((name) => cellOf(name, at(one, name))))
  const titles = columns.map((name) => title(name))
  const widths = columnWidths(
    columns.map((_, at) => Math.max(widthOf(titles[at] ?? ''), ...cells.map((row) => widthOf(row[at] ?? '')))),
    columns.map((name) => /(^|_)id$/.test(name)),
    width,
  )
  const line = (row: readonly string[], style: (text: string) => string) =>
    widths
      .map((size, at) => style(pad(cut(row[at] ?? '', size), at === widths.length - 1 ? 0 : size)))
      .join('  ')
      .trimEnd()
  const head = line(titles, (text) => paint('bold', text))
  return [head, ...cells.map((row) => line(row, styled))].join('\n')
}

const minWidth = 8

/** The widths of the columns. Ids are never shortened, because people copy them. The last columns are dropped if they do not fit. */
function columnWidths(natural: readonly number[], whole: readonly boolean[], width: number): number[] {
  for (let count = natural.length; count > 1; count--) {
    const widths = natural.slice(0, count)
    const room = width - 2 * (count - 1)
    let over = widths.reduce((sum, one) => sum + one, 0) - room
    while (over > 0) {
      const widest = widths.reduce(
        (best, one, at) => (!whole[at] && one > minWidth && one > (widths[best] ?? 0) ? at : best),
        -1,
      )
      if (widest < 0) break
      widths[widest] = (widths[widest] ?? 0) - 1
      over--
    }
    if (over <= 0) return widths
  }
  return [Math.min(natural[0] ?? width, width)]
}

const at = (one: Fields, name: string): unknown =>
  name.split('.').reduce<unknown>((value, key) => (isFields(value) ? value[key] : undefined), one)

/** The field's name in capitals. Some names are shortened, because they are wider than their values. */
const title = (name: string): string =>
  ({
    'principal.name': 'CALLER',
    created_at: 'CREATED',
    last_used_at: 'USED',
    expires_at: 'EXPIRES',
    updated_at: 'UPDATED',
    duration_ms: 'MS',
    access_policy_ids: 'POLICIES',
  })[name] ?? name.replaceAll(/[._]/g, ' ').toUpperCase()

function cellOf(name: string, value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (name.endsWith('_at') && typeof value === 'string') return ago(value)
  if (name === 'duration_ms' && typeof value === 'number') return String(Math.round(value))
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return oneLine(value.join(', '))
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value))
}

/** `5 min ago`, `in 3 h`. */
export function ago(moment: string, now: number = Date.now()): string {
  const seconds = Math.round((now - Date.parse(moment)) / 1000)
  if (Number.isNaN(seconds)) return oneLine(moment)
  const size = Math.abs(seconds)
  const [count, unit] =
    size < 60
      ? [size, 's']
      : size < 3600
        ? [Math.round(size / 60), 'min']
        : size < 86_400
          ? [Math.round(size / 3600), 'h']
          : [Math.round(size / 86_400), 'd']
  return seconds >= 0 ? `${count} ${unit} ago` : `in ${count} ${unit}`
}

/** One record, with a line for each field. Nested fields are indented. */
export function record(fields: Fields, indent = ''): string {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  const width = Math.max(...entries.map(([name]) => widthOf(name)))
  return entries
    .map(([name, value]) => {
      const label = paint('cyan', `${indent}${oneLine(name)}:`)
      const gap = ' '.repeat(width - widthOf(name) + 1)
      const text = valueText(value, `${indent}  `)
      return text.startsWith('\n') ? `${label}${text}` : `${label}${gap}${text}`
    })
    .join('\n')
}

function valueText(value: unknown, indent: string): string {
  if (value === null) return paint('dim', '-')
  if (typeof value === 'string') {
    const text = harmless(value)
    return text.includes('\n') ? `\n${indented(text.replace(/\n$/, ''), indent)}` : styled(text)
  }
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' && !one.includes('\n'))) {
    const list = value.map(oneLine).join(', ')
    if (list.length <= 60) return list === '' ? '[]' : list
  }
  const flat = JSON.stringify(value)
  if (flat.length <= 60) return flat
  if (isFields(value) && Object.values(value).every((one) => typeof one !== 'object' || one === null)) {
    return `\n${record(value, indent)}`
  }
  return `\n${indented(JSON.stringify(value, null, 2), indent)}`
}

const indented = (text: string, indent: string): string => text.replaceAll(/^/gm, indent)

/** The columns of each list, most important first. The last ones are left out on a narrow terminal. */
export const listColumns: Readonly<Record<string, readonly string[]>> = {
  'list-projects': ['name', 'id', 'created_at'],
  'list-api-keys': ['name', 'id', 'access_policy_ids', 'last_used_at', 'expires_at'],
  'list-access-policies': ['name', 'id', 'description'],
  'list-tools': ['name', 'type', 'id', 'description'],
  'list-tool-actions': ['name', 'level', 'auto_approve', 'description'],
  'list-servers': ['slug', 'agent_mode', 'enabled', 'url', 'description'],
  'list-skills': ['name', 'id', 'summary'],
  'list-ai-providers': ['name', 'type', 'id', 'default_model'],
  'list-agents': ['name', 'id', 'model', 'instructions'],
  'list-generations': ['id', 'status', 'model', 'steps', 'created_at'],
  'list-documents': ['path', 'id', 'updated_at'],
  'list-files': ['path', 'size', 'id'],
  'list-calls': ['created_at', 'status', 'tool', 'action', 'duration_ms', 'principal.name', 'id'],
  'list-webhooks': ['url', 'id', 'events', 'enabled'],
  'list-webhook-deliveries': ['event', 'status', 'attempts', 'id', 'created_at'],
  'list-approvals': ['id', 'status', 'tool', 'principal.name', 'created_at'],
  'list-approval-rules': ['name', 'id', 'reason'],
}
