import type { Message } from '../model/message.ts'
import type { Journal, JournalCall, Run } from '../store/generations.ts'

/** The conversation so far, as the model is to see it. */
export function transcript(run: Run, { steps, calls }: Journal): Message[] {
  const { instructions, max_context_messages } = run.settings
  const said: Message[] = [...run.input]
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
    said.push(...own.map(resultOf))
  }
  const system = said.filter(({ role }) => role === 'system')
  const rest = said.filter(({ role }) => role !== 'system')
  return [
    ...(instructions === null ? [] : [{ role: 'system' as const, content: instructions }]),
    ...system,
    ...latest(rest, max_context_messages),
  ]
}

const resultOf = ({ tool_call_id, tool_name, output, is_error }: JournalCall): Message => ({
  role: 'tool',
  tool_call_id,
  tool_name,
  output: output ?? null,
  is_error,
})

/** The last so many. The results of a call make no sense without the message that asked for it, so they go with it. */
function latest(messages: readonly Message[], most: number | null): readonly Message[] {
  if (most === null || messages.length <= most) return messages
  const kept = messages.slice(-most)
  const start = kept.findIndex(({ role }) => role !== 'tool')
  // All of them are results: then what asked for them is kept, too.
  if (start < 0) {
    const asked = messages.findLastIndex(({ role }) => role === 'assistant')
    return messages.slice(Math.max(asked, 0))
  }
  return kept.slice(start)
}
