import { createHash, randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { JsonObject } from '../../../lib/json.ts'
import type { ContentPart, Message } from '../../../model/message.ts'
import type { FinishReason } from '../model.ts'
import type { ReplayAnswer } from '../replay.ts'
import { type Frame, inParts, loose, type ProviderProtocol, readArgs, readOutput, textOfChunks } from './protocol.ts'

const TextBlock = loose({ type: z.literal('text'), text: z.string() })
const Block = z.union([
  TextBlock,
  loose({
    type: z.literal('image'),
    source: z.union([
      loose({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
      loose({ type: z.literal('url'), url: z.string() }),
    ]),
  }),
  // Anthropic's API rejects unsigned thinking.
  loose({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().min(1) }),
  loose({ type: z.literal('redacted_thinking') }),
  loose({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()) }),
  loose({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: z.union([z.string(), z.array(loose({ type: z.string(), text: z.string().optional() }))]).nullish(),
    is_error: z.boolean().nullish(),
  }),
])
type Block = z.infer<typeof Block>

const Request = loose({
  model: z.string(),
  max_tokens: z.int().min(1),
  system: z.union([z.string(), z.array(TextBlock)]).nullish(),
  messages: z
    .array(
      loose({ role: z.enum(['user', 'assistant', 'system']), content: z.union([z.string(), z.array(Block).min(1)]) }),
    )
    .min(1),
  tools: z.array(loose({ name: z.string() })).nullish(),
  stream: z.boolean().nullish(),
})

/** Anthropic's Messages API. */
export const anthropic: ProviderProtocol = {
  takes: (path) => /\/messages$/.test(path),

  keyOf: (headers) => {
    const key = headers['x-api-key']
    return typeof key === 'string' ? key : undefined
  },

  read({ body }) {
    const { model, system, messages, tools, stream } = Request.parse(body)
    const instructions = typeof system === 'string' ? system : (system ?? []).map(({ text }) => text).join('\n')
    const names = new Map<string, string>()
    const read = messages.flatMap(({ role, content }): Message[] => {
      const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
      if (role === 'system') return [{ role, content: textIn(blocks) }]
      return role === 'user' ? userMessages(blocks, names) : [assistantMessage(blocks, names)]
    })
    return {
      conversation: {
        model,
        messages: instructions === '' ? read : [{ role: 'system', content: instructions }, ...read],
        tools: (tools ?? []).map(({ name }) => name),
      },
      stream: stream === true,
    }
  },

  whole(performance) {
    const { reasoning, toolCalls } = performance
    const text = textOfChunks(performance)
    const content: JsonObject[] = [
      ...(reasoning === null ? [] : [{ type: 'thinking', thinking: reasoning, signature: sign(reasoning) }]),
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...toolCalls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: readArgs(args) })),
    ]
    return {
      ...message(performance, content),
      stop_reason: stopReasons[performance.finishReason],
      usage: { ...inputOf(performance), output_tokens: performance.usage.output_tokens },
    }
  },

  frames(performance) {
    const { reasoning, chunks, toolCalls, delayMs } = performance
    const frame = (data: JsonObject & { type: string }): Frame => ({ event: data.type, data })
    let index = -1
    const block = (content_block: JsonObject, deltas: readonly (JsonObject & { wait?: number })[]): Frame[] => {
      index++
      return [
        frame({ type: 'content_block_start', index, content_block }),
        ...deltas.map(({ wait = 0, ...delta }) => ({
          ...frame({ type: 'content_block_delta', index, delta }),
          delayMs: wait,
        })),
        frame({ type: 'content_block_stop', index }),
      ]
    }
    const text: Frame[] = [
      {
        ...frame({
          type: 'message_start',
          message: { ...message(performance, []), usage: { ...inputOf(performance), output_tokens: 1 } },
        }),
        delayMs,
      },
      frame({ type: 'ping' }),
      ...(reasoning === null
        ? []
        : block({ type: 'thinking', thinking: '', signature: '' }, [
            { type: 'thinking_delta', thinking: reasoning },
            { type: 'signature_delta', signature: sign(reasoning) },
          ])),
      ...(chunks.length === 0
        ? []
        : block(
            { type: 'text', text: '' },
            chunks.map(({ text: piece, delayMs: wait }) => ({ type: 'text_delta', text: piece, wait })),
          )),
    ]
    const calls = toolCalls.flatMap(({ id, name, args }) =>
      block(
        { type: 'tool_use', id, name, input: {} },
        inParts(args).map((part) => ({ type: 'input_json_delta', partial_json: part })),
      ),
    )
    return {
      text,
      rest: [
        ...calls,
        frame({
          type: 'message_delta',
          delta: { stop_reason: stopReasons[performance.finishReason], stop_sequence: null },
          usage: { output_tokens: performance.usage.output_tokens },
        }),
        frame({ type: 'message_stop' }),
      ],
    }
  },

  error({ status, code, message: says = 'as the script says' }) {
    const type = code ?? kinds[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
    return { type: 'error', error: { type, message: says }, request_id: `req_${randomUUID()}` }
  },
}

const kinds: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

const stopReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'refusal',
  other: 'other',
}

const message = ({ model }: ReplayAnswer, content: JsonObject[]) => ({
  id: `msg_${randomUUID()}`,
  type: 'message',
  role: 'assistant',
  model,
  content,
  stop_reason: null,
  stop_sequence: null,
})

/** `input_tokens` does not include tokens read from the cache. */
const inputOf = ({ usage }: ReplayAnswer) => ({
  input_tokens: usage.input_tokens - (usage.cached_input_tokens ?? 0),
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: usage.cached_input_tokens ?? 0,
})

const sign = (thinking: string) => createHash('sha256').update(thinking).digest('base64')

const textIn = (blocks: readonly Block[]) =>
  blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')

function userMessages(blocks: readonly Block[], names: ReadonlyMap<string, string>): Message[] {
  const results = blocks.flatMap((block): Message[] => {
    if (block.type !== 'tool_result') return []
    const { tool_use_id, content, is_error } = block
    const text = typeof content === 'string' ? content : (content ?? []).flatMap((part) => part.text ?? []).join('\n')
    return [
      {
        role: 'tool',
        tool_call_id: tool_use_id,
        tool_name: names.get(tool_use_id) ?? '',
        output: readOutput(text),
        is_error: is_error === true,
      },
    ]
  })
  const said = blocks.flatMap((block): ContentPart[] => {
    if (block.type === 'text') return [{ type: 'text', text: block.text }]
    if (block.type !== 'image') return []
    const { source } = block
    return source.type === 'url'
      ? [{ type: 'image', url: source.url }]
      : [{ type: 'image', media_type: source.media_type, data: source.data }]
  })
  return said.length === 0 ? results : [...results, { role: 'user', content: said }]
}

function assistantMessage(blocks: readonly Block[], names: Map<string, string>): Message {
  const calls = blocks.flatMap((block) => {
    if (block.type !== 'tool_use') return []
    names.set(block.id, block.name)
    return [{ id: block.id, name: block.name, args: JSON.stringify(block.input) }]
  })
  return { role: 'assistant', content: textIn(blocks) || null, ...(calls.length > 0 && { tool_calls: calls }) }
}
