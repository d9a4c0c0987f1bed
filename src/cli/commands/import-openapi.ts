import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { ApiDescription } from '../../sdk/types.ts'
import { askChoices } from '../toolkit/ask.ts'
import { exit, UsageError } from '../toolkit/command.ts'
import { Refused, type Session } from '../toolkit/connection.ts'
import { io, note, say } from '../toolkit/io.ts'
import { type Arguments, isSet, textOf } from '../toolkit/parse.ts'
import { print } from '../toolkit/print.ts'
import { canAsk, harmless, isForPeople, oneLine, pad, paint, withProgress } from '../toolkit/terminal.ts'

type Filter = { tag?: string; path?: string; method?: string; operation?: string }

/** Creates an openapi tool from a URL, a file or standard input, with all operations or some of them. */
export async function importOpenApi(source: string, read: Arguments, session: Session): Promise<number> {
  const project = projectOf(read)
  const origin = isUrl(source) ? { url: source } : await withDocument(source, project, session)
  const follows = isSet(read.given, 'follow-references') && { follow_references: true }
  const api = await withProgress(
    'Reading the document …',
    inspect({ ...origin, ...project, ...follows }, session),
  ).finally(() => ('remove' in origin ? origin.remove?.() : undefined))
  if (isSet(read.given, 'list')) return list(api, read)
  const include = filtersOf(read, '')
  const exclude = filtersOf(read, 'exclude-')
  const chosen = include.length > 0 || exclude.length > 0 ? include : await chooseTags(api)
  const serverUrl = textOf(read, 'server-url')
  const { data, error } = await session.qm.tools.createTool({
    body: {
      ...project,
      name: textOf(read, 'name') ?? nameFor(api, source),
      type: 'openapi',
      openapi: {
        ...(isUrl(source) && { url: source }),
        ...follows,
        snapshot: api.snapshot,
        ...(serverUrl !== undefined && { server_url: serverUrl }),
        ...(chosen.length > 0 && { include: chosen }),
        ...(exclude.length > 0 && { exclude }),
        ...valuesOf(read, 'header', 'headers'),
        ...valuesOf(read, 'credential', 'credentials'),
      },
    },
  })
  if (error) throw new Refused(error, session.connection.baseUrl)
  await report(data, api, read, session)
  return exit.ok
}

const isUrl = (source: string): boolean => /^https?:\/\//i.test(source)

const projectOf = (read: Arguments) => {
  const id = textOf(read, 'project-id')
  return id === undefined ? {} : { project_id: id }
}

async function inspect(
  source: { url?: string; document?: string; project_id?: string; follow_references?: boolean },
  { qm, connection }: Session,
): Promise<ApiDescription> {
  const { url, document, project_id, follow_references } = source
  const body = {
    ...(url && { url }),
    ...(document && { document }),
    ...(project_id && { project_id }),
    ...(follow_references && { follow_references }),
  }
  const { data, error } = await qm.tools.inspectOpenapi({ body })
  if (error) throw new Refused(error, connection.baseUrl)
  return data
}

/** Larger documents are uploaded as a file, because a JSON request has a limit. */
const largestInline = 2_000_000

async function withDocument(path: string, project: object, { qm, connection }: Session) {
  const bytes = path === '-' ? await buffer(io().stdin) : await load(path)
  if (bytes.length <= largestInline) return { document: bytes.toString('utf8') }
  const name = `/imports/${Date.now()}-${path === '-' ? 'openapi' : basename(path)}`
  const made = await qm.files.createFile({ body: { path: name, ...project } })
  if (made.error) throw new Refused(made.error, connection.baseUrl)
  const file = { file_id: made.data.id }
  const remove = async () => void (await qm.files.deleteFile({ path: file }))
  const sent = await withProgress('Uploading …', qm.files.uploadFile({ path: file, body: new Uint8Array(bytes) }))
  if (sent.error) {
    await remove()
    throw new Refused(sent.error, connection.baseUrl)
  }
  return { document: made.data.id, remove }
}

const load = (path: string) =>
  readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`Cannot read ${path} (${error.code}).`)
  })

/** Each flag is a filter of its own: an operation has to match one of them. */
const filtersOf = ({ given }: Arguments, prefix: string): Filter[] =>
  (['tag', 'path', 'method', 'operation'] as const).flatMap((field) =>
    (given.get(`${prefix}${field}`) ?? []).map((value) => ({ [field]: value })),
  )

/** `--header "X-Key: value"` and `--credential scheme=value`. */
function valuesOf({ given }: Arguments, flag: string, field: string): Record<string, Record<string, string>> {
  const pairs = (given.get(flag) ?? []).map((text) => {
    const [, name, value] = /^([^:=\s]+)\s*[:=]\s*(.*)$/s.exec(text) ?? []
    if (name === undefined || value === undefined)
      throw new UsageError(`--${flag} must be a name and a value: name=value.`)
    return [name, value]
  })
  return pairs.length > 0 ? { [field]: Object.fromEntries(pairs) } : {}
}

/** A tool for every operation of a large API helps nobody, so people choose. Scripts get all of them. */
const askFrom = 40

async function chooseTags({ operations }: ApiDescription): Promise<Filter[]> {
  const tags = [...new Set(operations.flatMap((one) => one.tags))]
  if (operations.length < askFrom || tags.length < 2 || !canAsk()) return []
  const choices = tags.map((tag) => {
    const count = operations.filter((one) => one.tags.includes(tag)).length
    return { value: tag, label: oneLine(tag), hint: `${count} operation${count === 1 ? '' : 's'}` }
  })
  const chosen = await askChoices(`Which of the ${operations.length} operations? Choose tags.`, choices)
  return chosen.length === tags.length ? [] : chosen.map((tag) => ({ tag }))
}

/** The title of the API or the host, as a valid name. */
function nameFor({ title, server_url: server }: ApiDescription, source: string): string {
  const host = URL.parse(server ?? source)
    ?.hostname.replace(/^(www|api)\./, '')
    .split('.')[0]
  const name = (title || host || 'api')
    .toLowerCase()
    .replaceAll(/\b(rest|open)?\s*api\b|\bv\d+\b|[^a-z0-9]+/g, '-')
    .replaceAll(/-{2,}/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40)
  return name === '' ? 'api' : name
}

function list(api: ApiDescription, read: Arguments): number {
  const json = isSet(read.given, 'json')
  if (!isForPeople(json)) {
    print(api, { json })
    return exit.ok
  }
  const width = Math.max(...api.operations.map(({ name }) => name.length), 4)
  const lines = api.operations.map(
    ({ name, method, path, size }) =>
      `${pad(harmless(name), width)}  ${pad(String(size), 6)}  ${paint('dim', harmless(`${method} ${path}`))}`,
  )
  say([`${pad('name', width)}  size`, ...lines].join('\n'))
  noteLeftOut(api)
  return exit.ok
}

const noteLeftOut = ({ left_out: left }: ApiDescription) => {
  for (const { operation, reason } of left.slice(0, 10)) note(oneLine(`${operation} was left out: ${reason}.`))
  if (left.length > 10) note(`${left.length - 10} more were left out.`)
}

async function report(
  tool: { readonly id: string; readonly name: string },
  api: ApiDescription,
  read: Arguments,
  { qm, connection }: Session,
): Promise<void> {
  const { data, error } = await qm.tools.listToolActions({ path: { tool_id: tool.id }, query: { limit: 1 } })
  if (error) throw new Refused(error, connection.baseUrl)
  const json = isSet(read.given, 'json')
  const count = `${data.total} of ${api.operations.length} operations`
  if (isForPeople(json)) say(`${paint('green', '+')} ${harmless(tool.name)}  ${tool.id}  ${count}`)
  else print(tool, { json })
  noteLeftOut(api)
  const given = read.given.get('credential') ?? []
  for (const { scheme, type, configured } of api.credentials) {
    const has = configured || given.some((text) => text.startsWith(scheme))
    if (!has)
      note(
        oneLine(
          `"${scheme}" (${type}) has no credential. Set openapi.credentials.${scheme}, for example to \${{ secrets.NAME }}.`,
        ),
      )
  }
}
