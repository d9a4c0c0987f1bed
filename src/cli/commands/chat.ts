import { isDeepStrictEqual } from 'node:util'
import type { GenerationResult, Quartermaster } from '../../sdk/index.ts'
import { askText } from '../toolkit/ask.ts'
import { exit, Interrupted, type Runner, UsageError } from '../toolkit/command.ts'
import { got, openSession, Refused, type Session } from '../toolkit/connection.ts'
import { quoted } from '../toolkit/example.ts'
import { io, note, say } from '../toolkit/io.ts'
import { isSet, readArguments } from '../toolkit/parse.ts'
import { withCommands } from '../toolkit/routes.ts'
import { canAsk, harmless, oneLine, paint, withProgress } from '../toolkit/terminal.ts'

interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

/** Prints one answer if there is a message, otherwise starts a conversation. */
export const chat: Runner = async (invocation) => {
  const { words, given } = readArguments(invocation, 2)
  const [agent, message] = words
  if (agent === undefined) throw new UsageError('The agent is missing: give its name or its id.')
  const session = await openSession(given)
  if (message !== undefined) {
    const result = await turn(session, agent, [{ role: 'user', content: message }], isSet(given, 'json'))
    return result.status === 'completed' ? exit.ok : result.status === 'requires_action' ? exit.waiting : exit.refused
  }
  if (!canAsk()) throw new UsageError('The message is missing: quartermaster chat <agent> "Hello".')
  note(paint('dim', 'To end the conversation, press Ctrl-C or send an empty message.', io().stderr))
  const messages: Message[] = []
  for (;;) {
    const content = await askText('You').catch((error: unknown) => {
      if (error instanceof Interrupted) return ''
      throw error
    })
    if (content.trim() === '') return exit.ok
    messages.push({ role: 'user', content })
    const result = await turn(session, agent, messages, false)
    messages.push({ role: 'assistant', content: result.output?.content ?? '' })
  }
}

async function turn(
  { qm, connection }: Session,
  agent: string,
  messages: readonly Message[],
  json: boolean,
): Promise<GenerationResult> {
  const { data, error } = await qm.agents.stream(agent, { messages: [...messages] })
  if (error) throw new Refused(error, connection.baseUrl)
  let result: GenerationResult | undefined
  let printed = ''
  let isMidLine = false
  const write = (text: string) => {
    io().stdout.write(harmless(text))
    isMidLine = text === '' ? isMidLine : !text.endsWith('\n')
  }
  const endLine = () => {
    if (isMidLine) write('\n')
  }
  for await (const event of data) {
    if (json) say(JSON.stringify(event))
    else if (event.type === 'text.delta') {
      printed += event.text
      write(event.text)
    } else if (event.type === 'tool_call.started') {
      endLine()
      note(paint('dim', `→ ${oneLine(event.tool_name)}`, io().stderr))
    } else if (event.type === 'call.waiting') {
      endLine()
      note(paint('yellow', `● ${oneLine(event.tool_name)} is waiting`, io().stderr))
    }
    if ('result' in event) result = event.result as GenerationResult
  }
  if (!result) throw new Refused({ code: 'NETWORK', message: 'The response was cut off.' }, connection.baseUrl)
  if (!json && result.status === 'requires_action') endLine()
  const ended = await settle(qm, agent, result)
  const rest = ended.output?.content ?? ''
  if (!json && rest !== '' && !printed.endsWith(rest)) write(rest)
  endLine()
  if (ended.error)
    note(paint('red', `✗ ${ended.error.code}: ${harmless(withCommands(ended.error.message))}`, io().stderr))
  return ended
}

/** Continues the run while it needs approvals or outputs of client tools. Waits for approvals, and prompts for outputs. */
async function settle(qm: Quartermaster, agent: string, first: GenerationResult): Promise<GenerationResult> {
  let result = first
  while (result.status === 'requires_action') {
    const { tool_calls = [], approvals = [] } = result.required_action ?? {}
    if (tool_calls.length > 0 && !canAsk()) {
      for (const one of tool_calls) note(howToAnswer(agent, result.id, one))
      return result
    }
    for (const { approval_id, tool_name } of approvals) {
      note(
        `${paint('yellow', '●', io().stderr)} ${oneLine(tool_name)} needs approval: quartermaster approvals approve ${approval_id}`,
      )
    }
    if (tool_calls.length === 0) {
      result = await withProgress('Waiting for approval …', afterDecision(qm, result))
      continue
    }
    const outputs = []
    for (const { tool_call_id, tool_name, args } of tool_calls) {
      note(`${paint('cyan', oneLine(tool_name), io().stderr)} ${oneLine(JSON.stringify(args))}`)
      outputs.push({ tool_call_id, output: await askText('Output of the tool') })
    }
    const path = { agent_id: agent, generation_id: result.id }
    const body = { tool_outputs: outputs }
    result = got(await withProgress('Thinking …', qm.agents.submitToolOutputs({ path, body }))) as GenerationResult
  }
  return result
}

type ToolCall = NonNullable<NonNullable<GenerationResult['required_action']>['tool_calls']>[number]

/** What the run waits for, and the command that answers it. */
function howToAnswer(agent: string, run: string, { tool_call_id, tool_name, args }: ToolCall): string {
  const outputs = JSON.stringify([{ tool_call_id, output: '…' }])
  return [
    `${paint('yellow', '●', io().stderr)} ${oneLine(tool_name)} ${oneLine(JSON.stringify(args))} waits for its output. To send it:`,
    `  quartermaster submit-tool-outputs --agent-id ${quoted(agent)} --generation-id ${run} --tool-outputs ${quoted(outputs)}`,
  ].join('\n')
}

/** Waits until the run ends or requires another action. The platform continues it after the decision. */
async function afterDecision(qm: Quartermaster, before: GenerationResult): Promise<GenerationResult> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    const events = got(await qm.agents.watchGeneration({ path: { generation_id: before.id } }))
    for await (const { data } of events) {
      const { result } = data as { result?: GenerationResult }
      if (result && !isDeepStrictEqual(result.required_action, before.required_action)) return result
    }
  }
}
