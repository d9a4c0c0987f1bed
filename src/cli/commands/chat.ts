import { isDeepStrictEqual } from 'node:util'
import type { GenerationResult, Quartermaster } from '../../sdk/index.ts'
import { askText } from '../toolkit/ask.ts'
import { exit, Interrupted, type Runner, UsageError } from '../toolkit/command.ts'
import { got, openSession, Refused, type Session } from '../toolkit/connection.ts'
import { isSet, readArguments } from '../toolkit/flags.ts'
import { canAsk, harmless, note, oneLine, paint, withProgress } from '../toolkit/terminal.ts'

interface Said {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

/** A conversation with an agent; with a message on the command line, one answer. */
export const chat: Runner = async (args, { flags }) => {
  const { words, given } = readArguments(flags, args, 2)
  const [agent, message] = words
  if (agent === undefined) throw new UsageError('The agent is missing: its name or its id.')
  const session = await openSession(given)
  if (message !== undefined) {
    const result = await turn(session, agent, [{ role: 'user', content: message }], isSet(given, 'json'))
    return result.status === 'completed' ? exit.ok : result.status === 'requires_action' ? exit.waiting : exit.refused
  }
  if (!canAsk()) throw new UsageError('What to say is missing: quartermaster chat <agent> "Hello".')
  note(paint('dim', 'An empty line or Ctrl-C ends the conversation.', process.stderr))
  const said: Said[] = []
  for (;;) {
    const content = await askText(paint('bold', 'you', process.stderr)).catch((error: unknown) => {
      if (error instanceof Interrupted) return ''
      throw error
    })
    if (content.trim() === '') return exit.ok
    said.push({ role: 'user', content })
    const result = await turn(session, agent, said, false)
    said.push({ role: 'assistant', content: result.output?.content ?? '' })
  }
}

async function turn(
  { qm, connection }: Session,
  agent: string,
  messages: readonly Said[],
  json: boolean,
): Promise<GenerationResult> {
  const { data, error } = await qm.agents.stream(agent, { messages: messages as never })
  if (error) throw new Refused(error, connection.baseUrl)
  let result: GenerationResult | undefined
  let printed = ''
  for await (const event of data) {
    if (json) console.log(JSON.stringify(event))
    else if (event.type === 'text.delta') {
      printed += event.text
      process.stdout.write(harmless(event.text))
    } else if (event.type === 'tool_call.started') note(paint('dim', `→ ${oneLine(event.tool_name)}`, process.stderr))
    else if (event.type === 'call.waiting') note(paint('yellow', `● ${oneLine(event.tool_name)} waits`, process.stderr))
    if ('result' in event) result = event.result as GenerationResult
  }
  if (!result) throw new Refused({ code: 'NETWORK', message: 'The answer broke off.' }, connection.baseUrl)
  const ended = await settle(qm, agent, result)
  const rest = ended.output?.content ?? ''
  if (!json && rest !== '' && !printed.endsWith(rest)) process.stdout.write(harmless(rest))
  if (!json && (printed || rest)) process.stdout.write('\n')
  if (ended.error) note(paint('red', `✗ ${ended.error.code}: ${harmless(ended.error.message)}`, process.stderr))
  return ended
}

/** Whatever the run still needs: a person's decision elsewhere, or what a tool of the caller answers, typed here. */
async function settle(qm: Quartermaster, agent: string, first: GenerationResult): Promise<GenerationResult> {
  let result = first
  while (result.status === 'requires_action') {
    const { tool_calls = [], approvals = [] } = result.required_action ?? {}
    if (tool_calls.length > 0 && !canAsk()) return result
    for (const { approval_id, tool_name } of approvals) {
      note(
        `${paint('yellow', '●', process.stderr)} A person must approve ${oneLine(tool_name)}: quartermaster approvals approve ${approval_id}`,
      )
    }
    if (tool_calls.length === 0) {
      result = await withProgress('Waiting for approval …', afterDecision(qm, result))
      continue
    }
    const outputs = []
    for (const { tool_call_id, tool_name, args } of tool_calls) {
      note(`${paint('cyan', oneLine(tool_name), process.stderr)} ${oneLine(JSON.stringify(args))}`)
      outputs.push({ tool_call_id, output: await askText('What does it answer?') })
    }
    const path = { agent_id: agent, generation_id: result.id }
    const body = { tool_outputs: outputs } as never
    result = got(await withProgress('Thinking …', qm.agents.submitToolOutputs({ path, body }))) as GenerationResult
  }
  return result
}

/** The run goes on by itself once it is decided; it comes to rest at its end, or where it needs something else. */
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
