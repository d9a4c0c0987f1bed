import { wholeSlice } from '../../lib/characters.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { textOf } from '../../model/message.ts'
import type { ReplayScript, ReplayStep, When } from '../../model/replay-script.ts'
import type { ModelAnswer, ModelRequest } from './model.ts'

/** Longer user messages are matched by their beginning. */
const longestKnown = 2000

/** Turns an answer into a replay step that matches the same point of the same conversation. */
export function recordedStep({ messages }: ModelRequest, answer: ModelAnswer): ReplayStep {
  const user = messages.findLast((message) => message.role === 'user')
  const last = messages.at(-1)
  const said = user ? textOf(user.content) : ''
  const when: When = {
    step: messages.filter(({ role }) => role === 'assistant').length + 1,
    ...(said !== '' && {
      last_user: said.length > longestKnown ? { contains: wholeSlice(said, longestKnown) } : { equals: said },
    }),
    last_tool: last?.role === 'tool' ? { name: last.tool_name, is_error: last.is_error } : null,
  }
  const { text, reasoning, tool_calls, usage, finish_reason } = answer
  return {
    when,
    answer: {
      ...(text !== '' && { text }),
      ...(reasoning !== null && { reasoning }),
      ...(tool_calls.length > 0 && {
        tool_calls: tool_calls.map(({ id, name, args }) => ({ id, name, args: argsOf(args) })),
      }),
      usage: {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        ...(usage.cached_input_tokens !== null && { cached_input_tokens: usage.cached_input_tokens }),
      },
      finish_reason,
      // A `{{` that the model wrote is not a placeholder.
      ...(JSON.stringify(answer).includes('{{') && { literal: true }),
    },
  }
}

function argsOf(args: string): JsonObject | string {
  try {
    const value: unknown = JSON.parse(args)
    // Only if it serializes to exactly the same text.
    if (isObject(value) && JSON.stringify(value) === args) return value
  } catch {
    // Not JSON: recorded as text.
  }
  return args
}

/** The recorded steps as a script. If two have the same condition, the later one wins. */
export function recordedScript(name: string, steps: readonly ReplayStep[]): ReplayScript {
  const byMoment = new Map(steps.map((step) => [JSON.stringify(step.when), step]))
  return { name, steps: [...byMoment.values()] }
}
