import { printToolReference } from '../../model/tool-reference.ts'
import type { Quartermaster } from '../../sdk/index.ts'
import { askChoice, askText } from '../toolkit/ask.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { got, openSession, Refused, type Session } from '../toolkit/connection.ts'
import { readArguments } from '../toolkit/flags.ts'
import { askFor, type Input, missingOf, missingText, readInput, type Schema } from '../toolkit/form.ts'
import { ago, print } from '../toolkit/print.ts'
import { readSource } from '../toolkit/request.ts'
import { canAsk, note, oneLine, paint, withProgress } from '../toolkit/terminal.ts'

interface Action {
  readonly name: string
  readonly input_schema: Schema
}

/** What may follow the tool's name without being an argument of it, unless it has one so called. */
const own = ['input', 'json', 'no-wait']

export const call: Runner = async (args, { flags }) => {
  const { before, words, after } = parted(args)
  const { given } = readArguments(
    flags.filter(({ name }) => !own.includes(name) || name === 'json'),
    before,
    0,
  )
  const [named, action] = words
  if (named === undefined && !canAsk()) throw new UsageError('The tool is missing: its name or its id.')
  const session = await openSession(given)
  const tool = named ?? (await chooseTool(session.qm))
  const chosen = await chooseAction(session.qm, tool, action)
  const { rest, whole, json, waits } = await takeOwn(after, chosen?.input_schema)
  const input: Input = { ...whole, ...(await readInput(chosen?.input_schema, rest, own)) }
  const missing = missingOf(chosen?.input_schema, input)
  if (missing.length > 0 && !canAsk()) throw new UsageError(missingText(chosen?.input_schema, missing))
  for (const name of missing) input[name] = await askFor(name, chosen?.input_schema.properties?.[name])
  const body = { input, ...((chosen?.name ?? action) && { action: chosen?.name ?? action }) }
  const isJson = json || given.has('json')
  return send(session, { tool, body, json: isJson, waits })
}

/** `call --url … crm create_contact --name Ada`: flags of the platform, the tool and its action, their arguments. */
function parted(args: readonly string[]): { before: string[]; words: string[]; after: string[] } {
  const before: string[] = []
  const rest = [...args]
  while (rest[0]?.startsWith('-')) {
    const flag = rest.shift() as string
    before.push(flag)
    if (!flag.includes('=') && ['--url', '--key', '--profile'].includes(flag) && rest.length > 0) {
      before.push(rest.shift() as string)
    }
  }
  const first = rest.findIndex((arg) => arg.startsWith('--'))
  const words = first < 0 ? rest : rest.slice(0, first)
  const over = words[2]
  if (over !== undefined) throw new UsageError(`"${over}" follows no flag: arguments are given as in --city Recife.`)
  return { before, words, after: first < 0 ? [] : rest.slice(first) }
}

async function takeOwn(after: readonly string[], schema: Schema | undefined) {
  const isOwn = (flag: string) => !Object.hasOwn(schema?.properties ?? {}, flag)
  const rest = [...after]
  const alone = (flag: string) => {
    const at = isOwn(flag) ? rest.indexOf(`--${flag}`) : -1
    if (at >= 0) rest.splice(at, 1)
    return at >= 0
  }
  const json = alone('json')
  const waits = !alone('no-wait')
  const at = isOwn('input') ? rest.findIndex((arg) => arg === '--input' || arg.startsWith('--input=')) : -1
  if (at < 0) return { rest, json, waits, whole: {} }
  const [flag = '', next] = rest.splice(at, rest[at] === '--input' ? 2 : 1)
  const text = flag === '--input' ? next : flag.slice('--input='.length)
  if (text === undefined) throw new UsageError('--input needs a value.')
  return { rest, json, waits, whole: toObject(await readSource('input', text)) }
}

function toObject(text: string): Input {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Input
  } catch (error) {
    throw new UsageError(`--input is not JSON: ${(error as Error).message}.`)
  }
  throw new UsageError('--input must be a JSON object.')
}

const mostChoices = 30

/** The name of a tool; with its app where another has the same name, or its id where that says no more. */
async function chooseTool(qm: Quartermaster): Promise<string> {
  const asked = qm.tools.listTools({ query: { limit: mostChoices } })
  const { data, total } = got(await withProgress('Looking for tools …', asked))
  if (data.length === 0) throw new UsageError('The tool is missing, and this key sees none: give the id of one.')
  if (total > mostChoices) return (await askText(`Which of the ${total} tools? Its name or its id`)).trim()
  const isOnly = (all: readonly string[], one: string) => all.indexOf(one) === all.lastIndexOf(one)
  const names = data.map(({ name }) => name)
  const references = data.map(printToolReference)
  const choices = data.map(({ name, id }, index) => {
    const reference = references[index] ?? id
    return isOnly(names, name) ? name : isOnly(references, reference) ? reference : id
  })
  const shown = choices.map(oneLine)
  return choices[shown.indexOf(await askChoice('Which tool?', shown))] ?? ''
}

/** Which action, and what it asks for; unknown for a key that may call and not look. */
async function chooseAction(qm: Quartermaster, tool: string, wanted: string | undefined): Promise<Action | undefined> {
  const actions: Action[] = []
  for (let total = 1; actions.length < total; ) {
    const asked = qm.tools.listToolActions({ path: { tool_id: tool }, query: { limit: 500, offset: actions.length } })
    const { data, error } = await withProgress('Looking at the tool …', asked)
    const isUnseen = error?.code === 'RESOURCE_NOT_FOUND' && !error.details?.did_you_mean
    if (isUnseen || error?.code === 'FORBIDDEN') return undefined
    const page = got({ data, error } as never) as { data: Action[]; total: number }
    actions.push(...page.data)
    total = page.data.length === 0 ? 0 : page.total
  }
  if (wanted === undefined && actions.length === 1) return actions[0]
  const names = actions.map(({ name }) => name)
  if (wanted === undefined && canAsk() && names.length > 0 && names.length <= mostChoices) {
    const chosen = await askChoice('Which action?', names.map(oneLine))
    return actions[names.map(oneLine).indexOf(chosen)]
  }
  const found = actions.find(({ name }) => name === wanted)
  if (found || names.length === 0) return found
  const all = ` There are ${names.slice(0, 20).join(', ')}${names.length > 20 ? ' …' : ''}.`
  if (wanted === undefined) throw new UsageError(`Which action?${all}`)
  const { didYouMean } = await import('../../lib/nearest.ts')
  throw new UsageError(`The tool has no action "${wanted}".${didYouMean(wanted, names) || all}`)
}

interface Sending {
  readonly tool: string
  readonly body: { readonly input: Input; readonly action?: string | undefined }
  readonly json: boolean
  readonly waits: boolean
}

async function send({ qm, connection }: Session, { tool, body, json, waits }: Sending): Promise<number> {
  for (;;) {
    const asked = qm.tools.callTool({ path: { tool_id: tool }, body: { ...body, wait: false } as never })
    const { data, error, response } = await withProgress(`Calling ${tool} …`, asked)
    if (error) throw new Refused(error, connection.baseUrl)
    if (response.status !== 202) {
      // What a tool answers is nobody's record: text as it is, and JSON otherwise.
      print(data, { json: json || typeof data !== 'string' })
      return saysFailed(data) ? exit.refused : exit.ok
    }
    const { approval_id: id, expires_at } = data as { approval_id: string; expires_at: string }
    if (!waits) {
      print(data, { json })
      return exit.waiting
    }
    note(waitingText(id, expires_at, connection.baseUrl))
    await withProgress('Waiting for approval …', decided(qm, id))
  }
}

/** The result of an MCP tool that ran, and tells of itself that it failed: so it is in the record too. */
const saysFailed = (data: unknown): boolean => {
  const { isError, content } = Object(data) as { isError?: unknown; content?: unknown }
  return isError === true && Array.isArray(content)
}

const waitingText = (id: string, expiresAt: string, baseUrl: string) =>
  [
    `${paint('yellow', '●', process.stderr)} A person must approve this call; it expires ${ago(expiresAt)}.`,
    `  quartermaster approvals approve ${id}`,
    `  ${baseUrl.replace(/\/+$/, '')}/approvals/${id}`,
    '  Whoever decides needs a key of their own.',
  ].join('\n')

/** Resolves once it is approved: sent again, the same call is then made. */
async function decided(qm: Quartermaster, id: string): Promise<void> {
  for (;;) {
    const { status, reason, action } = got(await qm.approvals.getApproval({ path: { approval_id: id } }))
    if (status === 'approved') return
    if (status !== 'pending') {
      const code = { rejected: 'APPROVAL_REJECTED', expired: 'APPROVAL_EXPIRED', cancelled: 'APPROVAL_CANCELLED' }[
        status as string
      ]
      const why = reason ? `: ${reason}` : ''
      throw new Refused({
        code: code ?? 'APPROVAL_USED',
        message: `The call of "${action}" was not made: its approval is ${status}${why}.`,
      })
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
