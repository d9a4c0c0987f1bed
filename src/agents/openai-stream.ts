import type { GenerationEvent } from './watch.ts'

/** One event of the stream, as OpenAI clients read it. */
export type Chunk = { readonly data: object } | { readonly raw: '[DONE]' }

/**
 * Translates the events of a run into OpenAI chat completion chunks: text as it arrives, then the finish reason. Calls of
 * client tools become tool calls with their complete arguments. Calls that the platform runs are not included.
 */
export function openAiStream(model: string | null, now = Date.now()): (event: GenerationEvent) => Chunk[] {
  let id = ''
  let hasSpoken = false
  const chunk = (delta: object, finish: string | null = null, more: object = {}): Chunk => ({
    data: {
      id,
      object: 'chat.completion.chunk',
      created: Math.floor(now / 1000),
      model: model ?? '',
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...more,
    },
  })
  return (event) => {
    switch (event.type) {
      case 'generation.started':
        id = event.generation_id
        return [chunk({ role: 'assistant', content: '' })]
      case 'step.started':
        return []
      case 'text.delta': {
        hasSpoken = true
        return [chunk({ content: event.text })]
      }
      case 'step.answered':
        // Separate the text before a call from the text after it.
        if (hasSpoken && event.calls.length > 0) {
          hasSpoken = false
          return [chunk({ content: '\n\n' })]
        }
        return []
      case 'generation.requires_action': {
        const { required_action: required } = event.result
        const calls = (required?.tool_calls ?? []).map(({ tool_call_id, tool_name, args }, index) => ({
          index,
          id: tool_call_id,
          type: 'function',
          function: { name: tool_name, arguments: JSON.stringify(args) },
        }))
        return [
          ...(calls.length > 0 ? [chunk({ tool_calls: calls })] : []),
          chunk({}, 'tool_calls', { generation: event.result, usage: usageOf(event.result.usage) }),
          { raw: '[DONE]' },
        ]
      }
      case 'generation.completed': {
        const finish = event.result.output?.finish_reason ?? 'stop'
        return [
          chunk({}, finish === 'other' || finish === 'tool_calls' ? 'stop' : finish, {
            generation: event.result,
            usage: usageOf(event.result.usage),
          }),
          { raw: '[DONE]' },
        ]
      }
      case 'generation.cancelled':
        return [chunk({}, 'stop', { generation: event.result }), { raw: '[DONE]' }]
      // No [DONE], so that clients do not treat the partial text as complete.
      case 'generation.failed':
        return [{ data: { error: { ...event.result.error, generation_id: id } } }]
      default:
        return []
    }
  }
}

const usageOf = ({ input_tokens, output_tokens }: { input_tokens: number; output_tokens: number }) => ({
  prompt_tokens: input_tokens,
  completion_tokens: output_tokens,
  total_tokens: input_tokens + output_tokens,
})
