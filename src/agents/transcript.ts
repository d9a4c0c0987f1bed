import type { ContentPart, Message } from '../model/message.ts'
import { outputIn, type Picture, picturesIn } from '../model/picture.ts'
import type { Run } from '../store/generations.ts'
import type { Journal, JournalCall } from '../store/journal.ts'

/** The conversation so far, as it is sent to the model. */
export function transcript(run: Run, { steps, calls }: Journal): Message[] {
  const { instructions, max_context_messages } = run.settings
  const messages: Message[] = [...run.input]
  const shown = latestPictures(calls)
  for (const step of steps) {
    if (step.answered_at === null) continue
    const own = calls.filter((call) => call.step === step.number)
    messages.push({
      role: 'assistant',
      content: step.text === '' ? null : step.text,
      ...(step.reasoning !== null && { reasoning: step.reasoning }),
      ...(own.length > 0 && {
        tool_calls: own.map(({ tool_call_id, tool_name, args }) => ({ id: tool_call_id, name: tool_name, args })),
      }),
      ...(step.metadata !== null && { metadata: step.metadata }),
    })
    messages.push(...own.map((call) => resultOf(call, shown.get(call))))
  }
  const system = messages.filter(({ role }) => role === 'system')
  const rest = messages.filter(({ role }) => role !== 'system')
  return [
    ...(instructions === null ? [] : [{ role: 'system' as const, content: instructions }]),
    ...system,
    ...latest(rest, max_context_messages),
  ]
}

/**
 * Adds instructions for one step. They are the last part of the last user message, so that everything before it is the same
 * in the next turn and stays in the provider's cache.
 */
export function withGuidance(messages: readonly Message[], guidance: string | null): readonly Message[] {
  if (guidance === null) return messages
  const at = messages.findLastIndex(({ role }) => role === 'user')
  const part = { type: 'text' as const, text: guidance }
  const message = messages[at]
  // After a draft that was not sent, it is a message of its own.
  if (messages.at(-1)?.role === 'assistant') return [...messages, { role: 'user', content: [part] }]
  if (message?.role !== 'user') {
    // An autonomous run has no user, but providers expect a conversation to start with one.
    const start = messages.findLastIndex(({ role }) => role === 'system') + 1
    return messages.toSpliced(start, 0, { role: 'user', content: [part] })
  }
  const before: ContentPart[] =
    typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
  return messages.with(at, { role: 'user', content: [...before, part] })
}

function resultOf({ tool_call_id, tool_name, output, is_error }: JournalCall, pictures?: readonly Picture[]): Message {
  return {
    role: 'tool',
    tool_call_id,
    tool_name,
    output: outputIn(output ?? null),
    is_error,
    ...(pictures && { pictures }),
  }
}

/** How many pictures of a conversation are sent to the model: each step sends them all again. */
const maxPictures = 4

/** Earlier pictures are only mentioned in the text of their results, so they are not decoded here. */
function latestPictures(calls: readonly JournalCall[]): Map<JournalCall, readonly Picture[]> {
  const shown = new Map<JournalCall, readonly Picture[]>()
  let left = maxPictures
  for (const call of calls.toReversed()) {
    if (left === 0) break
    const pictures = picturesIn(call.output ?? null).slice(0, left)
    left -= pictures.length
    if (pictures.length > 0) shown.set(call, pictures)
  }
  return shown
}

/**
 * The last `most` messages, plus the latest user message. Tool results need the assistant message that requested them, so
 * leading results are dropped.
 */
function latest(messages: readonly Message[], most: number | null): readonly Message[] {
  if (most === null || messages.length <= most) return messages
  const kept = messages.slice(-most)
  const start = kept.findIndex(({ role }) => role !== 'tool')
  // All of them are tool results: keep the assistant message that requested them as well.
  const asked = messages.findLastIndex(({ role }) => role === 'assistant')
  const last = start < 0 ? messages.slice(Math.max(asked, 0)) : kept.slice(start)
  // The model needs the user's question, and some providers reject a conversation that starts with an assistant message.
  const question = messages.findLast(({ role }) => role === 'user')
  return !question || last.some(({ role }) => role === 'user') ? last : [question, ...last]
}
