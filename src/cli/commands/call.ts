import { printToolReference } from '../../model/tool-reference.ts'
import type { Quartermaster } from '../../sdk/index.ts'
import { askChoice, askText } from '../toolkit/ask.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { got, openSession, Refused, type Session } from '../toolkit/connection.ts'
import { outputFlags } from '../toolkit/flags.ts'
import { askFor, type Input, missingOf, missingText, readToolArguments, type Schema } from '../toolkit/form.ts'
import { io, note } from '../toolkit/io.ts'
import { isSet, parseArguments, textOf, withGlobals } from '../toolkit/parse.ts'
import { ago, print } from '../toolkit/print.ts'
import { parseObject, readSource } from '../toolkit/request.ts'
import { canAsk, oneLine, paint, withProgress } from '../toolkit/terminal.ts'

export interface Action {
  readonly name: string
  readonly description?: string
  readonly input_schema: Schema
}

/** `call --url … crm create_contact --name Ada`: flags of the platform, the tool, its action, and the arguments. */
export const call: Runner = async ({ command, args, globals }) => {
  const { words, given } = parseArguments(command.flags, args, { stopAtWord: true })
  const before = withGlobals(command, given, globals)
  const { tool: named, action, rest } = splitWords(words)
  if (named === undefined && !canAsk()) throw new UsageError('The tool is missing: give its name or its id.')
  const session = await openSession(before)
  const tool = named ?? (await chooseTool(session.qm))
  const chosen = await chooseAction(session.qm, tool, action)
  const schema = chosen?.input_schema
  const commandFlags = command.flags.filter(({ name }) => name === 'input' || name === 'no-wait')
  const read = await readToolArguments(schema, rest, [...commandFlags, ...outputFlags])
  const all = { given: new Map([...before, ...read.given]) }
  const whole = textOf(all, 'input')
  const input: Input = {
    ...(whole === undefined ? {} : parseObject('input', await readSource('input', whole))),
    ...read.input,
  }
  const missing = missingOf(schema, input)
  if (missing.length > 0 && !canAsk()) throw new UsageError(missingText(schema, missing))
  for (const name of missing) input[name] = await askFor(name, schema?.properties?.[name])
  const body = { input, ...((chosen?.name ?? action) && { action: chosen?.name ?? action }) }
  return send(session, { tool, body, json: isSet(all.given, 'json'), waits: !isSet(all.given, 'no-wait') })
}

/** The tool, its action, and the arguments, which begin with the first flag. */
export function splitWords([tool, next, ...rest]: readonly string[]) {
  if (next === undefined) return { tool, action: undefined, rest }
  return next.startsWith('--') ? { tool, action: undefined, rest: [next, ...rest] } : { tool, action: next, rest }
}

const mostChoices = 30

/** Prompts for a tool. Tools of the same name are shown with their app, or by id. */
async function chooseTool(qm: Quartermaster): Promise<string> {
  const listed = qm.tools.listTools({ query: { limit: mostChoices } })
  const { data, total } = got(await withProgress('Loading tools …', listed))
  if (data.length === 0)
    throw new UsageError('The tool is missing, and this key cannot list any. Give the id of a tool.')
  if (total > mostChoices) return (await askText(`Name or id of the tool (${total} tools)`)).trim()
  const isOnly = (all: readonly string[], one: string) => all.indexOf(one) === all.lastIndexOf(one)
  const names = data.map(({ name }) => name)
  const references = data.map(printToolReference)
  const choices = data.map(({ name, id }, index) => {
    const reference = references[index] ?? id
    return isOnly(names, name) ? name : isOnly(references, reference) ? reference : id
  })
  const shown = choices.map(oneLine)
  return choices[shown.indexOf(await askChoice('Tool', shown))] ?? ''
}

/** The action and its schema; `undefined` if the key may call the tool but not read it. */
async function chooseAction(qm: Quartermaster, tool: string, wanted: string | undefined): Promise<Action | undefined> {
  const actions = await actionsOf(qm, tool)
  if (!actions) return undefined
  if (wanted === undefined && actions.length === 1) return actions[0]
  const names = actions.map(({ name }) => name)
  if (wanted === undefined && canAsk() && names.length > 0 && names.length <= mostChoices) {
    const chosen = await askChoice('Action', names.map(oneLine))
    return actions[names.map(oneLine).indexOf(chosen)]
  }
  const found = actions.find(({ name }) => name === wanted)
  if (found || names.length === 0) return found
  const all = ` Actions: ${names.slice(0, 20).join(', ')}${names.length > 20 ? ' …' : ''}.`
  if (wanted === undefined) throw new UsageError(`The action is missing.${all}`)
  const { didYouMean } = await import('../../lib/nearest.ts')
  throw new UsageError(`The tool has no action "${wanted}".${didYouMean(wanted, names) || all}`)
}

/** All actions of a tool; `undefined` if the key may call the tool but not read it. */
export async function actionsOf(qm: Quartermaster, tool: string): Promise<Action[] | undefined> {
  const actions: Action[] = []
  for (let total = 1; actions.length < total; ) {
    const listed = qm.tools.listToolActions({ path: { tool_id: tool }, query: { limit: 500, offset: actions.length } })
    const { data, error } = await withProgress('Loading the tool …', listed)
    const isUnseen = error?.code === 'RESOURCE_NOT_FOUND' && !error.details?.did_you_mean
    if (isUnseen || error?.code === 'FORBIDDEN') return undefined
    const page = got({ data, error } as never) as { data: Action[]; total: number }
    actions.push(...page.data)
    total = page.data.length === 0 ? 0 : page.total
  }
  return actions
}

interface Sending {
  readonly tool: string
  readonly body: { readonly input: Input; readonly action?: string | undefined }
  readonly json: boolean
  readonly waits: boolean
}

async function send({ qm, connection }: Session, { tool, body, json, waits }: Sending): Promise<number> {
  for (;;) {
    const called = qm.tools.callTool({ path: { tool_id: tool }, body: { ...body, wait: false } })
    const { data, error, response } = await withProgress(`Calling ${tool} …`, called)
    if (error) throw new Refused(error, connection.baseUrl)
    if (response.status !== 202) {
      // A tool's output has no known fields: text is printed as it is, and anything else as JSON.
      print(data, { json: json || typeof data !== 'string' })
      const told = response.headers.get('quartermaster-note')
      if (told !== null) note(told)
      return isToolError(data) ? exit.refused : exit.ok
    }
    const { approval_id: id, expires_at } = data as { approval_id: string; expires_at: string }
    if (!waits) {
      print(data, { json })
      return exit.waiting
    }
    note(waitingText(id, expires_at, connection.baseUrl))
    await withProgress('Waiting for approval …', untilApproved(qm, id))
  }
}

/** Whether an MCP tool ran and reported an error. */
const isToolError = (data: unknown): boolean => {
  const { isError, content } = Object(data) as { isError?: unknown; content?: unknown }
  return isError === true && Array.isArray(content)
}

const waitingText = (id: string, expiresAt: string, baseUrl: string) =>
  [
    `${paint('yellow', '●', io().stderr)} This call needs approval. The request expires ${ago(expiresAt)}.`,
    `  quartermaster approvals approve ${id}`,
    `  ${baseUrl.replace(/\/+$/, '')}/approvals/${id}`,
    '  You cannot approve your own call: the reviewer needs another API key.',
  ].join('\n')

/** Waits until the call is approved. Sending the same call again then runs it. */
async function untilApproved(qm: Quartermaster, id: string): Promise<void> {
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
        message: `"${action}" was not called. The approval is ${status}${why}.`,
      })
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
