import type { Message } from '../model/message.ts'
import { outputIn, type Picture, picturesIn } from '../model/picture.ts'
import type { Run } from '../store/generations.ts'
import type { Journal, JournalCall } from '../store/journal.ts'

/** The conversation so far, as the model is to see it. */
export function transcript(run: Run, { steps, calls }: Journal): Message[] {
  const { instructions, max_context_messages } = run.settings
  const said: Message[] = [...run.input]
  const shown = latestPictures(calls)
  for (const step of steps) {
    if (step.answered_at === null) continue
    const own = calls.filter((call) => call.step === step.number)
    said.push({
      role: 'assistant',
      content: step.text === '' ? null : step.text,
      ...(step.reasoning !== null && { reasoning: step.reasoning }),
      ...(own.length > 0 && {
        tool_calls: own.map(({ tool_call_id, tool_name, args }) => ({ id: tool_call_id, name: tool_name, args })),
      }),
      ...(step.metadata !== null && { metadata: step.metadata }),
    })
    said.push(...own.map((call) => resultOf(call, shown.get(call))))
  }
  const system = said.filter(({ role }) => role === 'system')
  const rest = said.filter(({ role }) => role !== 'system')
  return [
    ...(instructions === null ? [] : [{ role: 'system' as const, content: instructions }]),
    ...system,
    ...latest(rest, max_context_messages),
  ]
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

/** How many pictures of a conversation a model is shown: each step sends them all again. */
const mostPictures = 4

/** Those that came before are only named, as they are in the text, and are not even looked at. */
function latestPictures(calls: readonly JournalCall[]): Map<JournalCall, readonly Picture[]> {
  const shown = new Map<JournalCall, readonly Picture[]>()
  let left = mostPictures
  for (const call of calls.toReversed()) {
    if (left === 0) break
    const pictures = picturesIn(call.output ?? null).slice(0, left)
    left -= pictures.length
    if (pictures.length > 0) shown.set(call, pictures)
  }
  return shown
}

/** The last so many, and the question they are about. The results of a call make no sense without the message that asked for it, so they go with it. */
function latest(messages: readonly Message[], most: number | null): readonly Message[] {
  if (most === null || messages.length <= most) return messages
  const kept = messages.slice(-most)
  const start = kept.findIndex(({ role }) => role !== 'tool')
  // All of them are results: then what asked for them is kept, too.
  const asked = messages.findLastIndex(({ role }) => role === 'assistant')
  const last = start < 0 ? messages.slice(Math.max(asked, 0)) : kept.slice(start)
  // Without the question nobody can answer it, and some providers refuse a conversation that begins with an answer.
  const question = messages.findLast(({ role }) => role === 'user')
  return !question || last.some(({ role }) => role === 'user') ? last : [question, ...last]
}
