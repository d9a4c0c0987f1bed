import type { Message } from '../../model/message.ts'
import type { SessionEvent } from '../../model/session.ts'
import { sanitise, sanitiseText } from './sanitise.ts'

/** The longest result of a tool in a prompt, in characters of JSON. */
const longestResult = 200_000

/** The kinds of events that `messagesOf` needs. Status events say which turn saw what. */
export const historyKinds = ['message', 'tool', 'status'] as const

/** The events of a session as a conversation for a model. Status and custom events are not part of it. */
export function messagesOf(events: readonly SessionEvent[]): Message[] {
  return asSeen(events).flatMap((event): Message[] => {
    if (event.kind === 'message') return [spoken(event)]
    return event.kind === 'tool' ? called(event) : []
  })
}

/**
 * A turn does not see what arrives while it runs. So that comes after the reply of the turn, although it is before it in
 * the log: otherwise it would look as if the reply had answered it.
 */
function asSeen(events: readonly SessionEvent[]): SessionEvent[] {
  const seen: SessionEvent[] = []
  const held: SessionEvent[] = []
  let turn: string | null = null
  for (const event of events) {
    if (event.status === 'acknowledged') turn = event.generation_id
    const isOfTurn = turn === null || event.generation_id === turn
    ;(isOfTurn ? seen : held).push(event)
    if (event.status !== 'ready' || event.generation_id !== turn) continue
    seen.push(...held.splice(0))
    turn = null
  }
  return [...seen, ...held]
}

function spoken({ source, message = '' }: SessionEvent): Message {
  if (source === 'agent') return { role: 'assistant', content: sanitiseText(message) }
  // Only the operator's guidance has this mark. Where there is none, a message could pass for it.
  const text = sanitiseText(message).replaceAll(/\[\s*guidance\s*\]/gi, '(guidance)')
  if (source === 'customer') return { role: 'user', content: text }
  return { role: 'user', content: `(${source === 'human' ? 'a human agent' : `the ${source}`}) ${text}` }
}

/** A tool event is shown as a call and its result, no matter who made it. */
function called({ id, tool_id = '', arguments: args = {}, result = null, is_error = false }: SessionEvent): Message[] {
  const name = modelName(tool_id)
  const output = sanitise(result)
  const text = JSON.stringify(output)
  const shown = text.length > longestResult ? `${text.slice(0, longestResult).toWellFormed()}… (truncated)` : output
  return [
    { role: 'assistant', content: null, tool_calls: [{ id, name, args: JSON.stringify(sanitise(args)) }] },
    { role: 'tool', tool_call_id: id, tool_name: name, output: shown, is_error },
  ]
}

/** `crm:authenticate` as `crm_authenticate`: every provider accepts such names. */
export const modelName = (toolId: string): string =>
  sanitiseText(toolId)
    .replaceAll(/[^A-Za-z0-9_-]/g, '_')
    .slice(0, 64) || 'tool'
