import { isTooDeep, type Json } from '../../lib/json.ts'
import { outputIn } from '../../model/picture.ts'
import type { TurnStatus } from '../../model/session.ts'
import type { Run } from '../../store/generations.ts'
import type { JournalCall } from '../../store/journal.ts'
import type { NewEvent } from '../../store/sessions.ts'
import type { Toolbox } from '../toolbox.ts'

const ofTurn = ({ id, trace_id }: Pick<Run, 'id' | 'trace_id'>) => ({ generation_id: id, trace_id })

export const statusEvent = (run: Pick<Run, 'id' | 'trace_id'>, status: TurnStatus, at = ''): NewEvent => ({
  kind: 'status',
  source: 'system',
  data: { status },
  key: `${run.id}/${status}${at}`,
  ...ofTurn(run),
})

/** The text of a step. The same step has the same event, also as the reply at the end. */
export const messageEvent = (run: Run, step: number, message: string): NewEvent => ({
  kind: 'message',
  source: 'agent',
  data: { message },
  key: `${run.id}/${step}`,
  ...ofTurn(run),
})

export const toolEvent = (run: Run, call: JournalCall, toolbox: Toolbox): NewEvent => ({
  kind: 'tool',
  source: 'agent',
  data: {
    tool_id: toolIdOf(call, toolbox),
    arguments: jsonIn(call.args.trim() === '' ? '{}' : call.args),
    result: resultOf(call),
    is_error: call.is_error,
  },
  key: call.call_id,
  ...ofTurn(run),
})

/** The canonical id of the action that a call names, or the name itself if there is no such tool. */
export const toolIdOf = ({ tool_id, action, tool_name }: JournalCall, toolbox: Toolbox): string =>
  tool_id === null ? (action ?? tool_name) : (toolbox.find(tool_name)?.prepared.action.id ?? tool_name)

/** MCP servers return JSON as text. */
export function resultOf({ output = null }: JournalCall): Json {
  const value = outputIn(output)
  return typeof value === 'string' && /^\s*[[{]/.test(value) ? jsonIn(value) : value
}

function jsonIn(text: string): Json {
  try {
    return isTooDeep(text) ? text : JSON.parse(text)
  } catch {
    return text
  }
}

/** The last events of a turn: the reply or what prevented it, then `ready`. */
export function endEvents(run: Run): NewEvent[] {
  const events: NewEvent[] = []
  if (run.status === 'completed' && run.content) events.push(messageEvent(run, run.steps, run.content))
  if (run.status === 'cancelled') events.push(statusEvent(run, 'cancelled'))
  if (run.status === 'failed') {
    const { code = 'INTERNAL', message = '' } = run.error ?? {}
    const event = statusEvent(run, 'error')
    events.push({ ...event, data: { ...event.data, error: { code, message } } })
  }
  return [...events, statusEvent(run, 'ready')]
}
