import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { type ContentPart, type Message, textOf } from '../../../model/message.ts'
import type { ReplayAnswer } from '../replay.ts'
import { type Frame, imageOf, inParts, loose, type ProviderProtocol, readOutput, textOfChunks } from './protocol.ts'

const Part = z.union([
  loose({ type: z.literal('text'), text: z.string() }),
  loose({ type: z.literal('image_url'), image_url: loose({ url: z.string() }) }),
])
const Content = z.union([z.string(), z.array(Part)])

const Request = loose({
  model: z.string(),
  messages: z
    .array(
      z.union([
        loose({ role: z.enum(['system', 'developer', 'user']), content: Content }),
        loose({
          role: z.literal('assistant'),
          content: Content.nullish(),
          reasoning_content: z.string().nullish(),
          tool_calls: z
            .array(loose({ id: z.string(), function: loose({ name: z.string(), arguments: z.string() }) }))
            .nullish(),
        }),
        loose({ role: z.literal('tool'), tool_call_id: z.string(), content: Content }),
      ]),
    )
    .min(1),
  tools: z.array(loose({ function: loose({ name: z.string() }) })).nullish(),
  stream: z.boolean().nullish(),
  stream_options: loose({ include_usage: z.boolean().nullish() }).nullish(),
})
type Request = z.infer<typeof Request>

/** OpenAI's chat completions, and compatible APIs. */
export const openai: ProviderProtocol = {
  takes: (path) => /\/chat\/completions$/.test(path),

  keyOf: ({ authorization }) => /^Bearer (.+)$/.exec(String(authorization ?? ''))?.[1],

  read({ body }) {
    const { model, messages, tools, stream, stream_options } = Request.parse(body)
    const names = new Map(
      messages.flatMap((one) =>
        one.role === 'assistant' ? (one.tool_calls ?? []).map((call) => [call.id, call.function.name] as const) : [],
      ),
    )
    return {
      conversation: {
        model,
        messages: messages.map((one) => toMessage(one, names)),
        tools: (tools ?? []).map((tool) => tool.function.name),
      },
      stream: stream === true,
      wantsUsage: stream_options?.include_usage === true,
    }
  },

  whole(performance) {
    const { reasoning, toolCalls } = performance
    const text = textOfChunks(performance)
    return {
      ...envelope(performance, 'chat.completion'),
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: text === '' && toolCalls.length > 0 ? null : text,
            ...(reasoning !== null && { reasoning_content: reasoning }),
            ...(toolCalls.length > 0 && {
              tool_calls: toolCalls.map(({ id, name, args }) => ({
                id,
                type: 'function',
                function: { name, arguments: args },
              })),
            }),
            refusal: null,
          },
          logprobs: null,
          finish_reason: performance.finishReason,
        },
      ],
      usage: usageOf(performance),
    }
  },

  frames(performance, { wantsUsage }) {
    const head = envelope(performance, 'chat.completion.chunk')
    const chunk = (delta: JsonObject, finish: string | null = null): Frame => ({
      data: { ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] },
    })
    const { reasoning, chunks, toolCalls, finishReason, delayMs } = performance
    const calls = toolCalls.flatMap(({ id, name, args }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...inParts(args).map((part) => chunk({ tool_calls: [{ index, function: { arguments: part } }] })),
    ])
    return {
      text: [
        { ...chunk({ role: 'assistant', content: '' }), delayMs },
        ...(reasoning === null ? [] : [chunk({ reasoning_content: reasoning })]),
        ...chunks.map(({ text, delayMs: wait }) => ({ ...chunk({ content: text }), delayMs: wait })),
      ],
      rest: [
        ...calls,
        chunk({}, finishReason),
        ...(wantsUsage ? [{ data: { ...head, choices: [], usage: usageOf(performance) } }] : []),
        { data: '[DONE]' },
      ],
    }
  },

  error({ status, code, message = 'as the script says' }) {
    const [type, usual = null] = kinds[status] ?? (status >= 500 ? ['server_error'] : ['invalid_request_error'])
    return { error: { message, type: type as string, param: null, code: code ?? usual } }
  },
}

const kinds: Readonly<Record<number, readonly [type: string, code?: string]>> = {
  401: ['invalid_request_error', 'invalid_api_key'],
  403: ['invalid_request_error'],
  404: ['invalid_request_error', 'model_not_found'],
  429: ['requests', 'rate_limit_exceeded'],
}

const envelope = ({ model }: ReplayAnswer, object: string) => ({
  id: `chatcmpl-${randomUUID()}`,
  object,
  created: Math.floor(Date.now() / 1000),
  model,
})

const usageOf = ({ usage }: ReplayAnswer) => ({
  prompt_tokens: usage.input_tokens,
  completion_tokens: usage.output_tokens,
  total_tokens: usage.input_tokens + usage.output_tokens,
  ...(usage.cached_input_tokens !== null && { prompt_tokens_details: { cached_tokens: usage.cached_input_tokens } }),
})

const contentOf = (content: z.infer<typeof Content>): string | ContentPart[] =>
  typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : imageOf(part.image_url.url)))

/** This API has no error flag; clients wrap errors in `{ error: … }`. */
const outcomeOf = (output: Json): { output: Json; is_error: boolean } =>
  isObject(output) && Object.keys(output).join() === 'error'
    ? { output: output.error as Json, is_error: true }
    : { output, is_error: false }

function toMessage(one: Request['messages'][number], names: ReadonlyMap<string, string>): Message {
  const content = contentOf(one.content ?? '')
  switch (one.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: textOf(content) }
    case 'user':
      return { role: 'user', content }
    case 'assistant':
      return {
        role: 'assistant',
        content: textOf(content) || null,
        ...(one.reasoning_content && { reasoning: one.reasoning_content }),
        ...(one.tool_calls?.length && {
          tool_calls: one.tool_calls.map((call) => ({
            id: call.id,
            name: call.function.name,
            args: call.function.arguments,
          })),
        }),
      }
    case 'tool':
      return {
        role: 'tool',
        tool_call_id: one.tool_call_id,
        tool_name: names.get(one.tool_call_id) ?? '',
        ...outcomeOf(readOutput(textOf(content))),
      }
  }
}
