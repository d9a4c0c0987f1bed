import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { ProviderType } from '../../model/ai-provider.ts'
import { type ContentPart, type Message, textOf } from '../../model/message.ts'
import type { ModelRequest } from './model.ts'

type Assistant = Extract<Message, { role: 'assistant' }>
type ToolMessage = Extract<Message, { role: 'tool' }>
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']

/** A part of an answer that the provider needs back unchanged. Tool calls are referenced by id. */
export interface KeptPart {
  readonly type: 'text' | 'reasoning' | 'tool-call'
  readonly text?: string
  readonly id?: string
  readonly options?: JsonObject
}

/** Translates a request into options of the AI SDK. */
export function optionsOf(request: ModelRequest, type: ProviderType): LanguageModelV4CallOptions {
  const { tools, toolChoice, temperature } = request
  return {
    prompt: promptOf(request.messages, type),
    ...(temperature !== null && { temperature }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, schema }) => ({
        type: 'function' as const,
        name,
        ...(description !== null && { description }),
        inputSchema: schema as never,
      })),
      toolChoice:
        typeof toolChoice === 'string' ? { type: toolChoice } : { type: 'tool', toolName: toolChoice.tool_name },
    }),
  }
}

function promptOf(messages: readonly Message[], type: ProviderType): LanguageModelV4Prompt {
  const prompt = inOrder(messages, type)
    .map((message) => convert(message, type))
    // Some providers reject empty assistant messages.
    .filter(({ role, content }) => role !== 'assistant' || content.length > 0)
  const merged: LanguageModelV4Prompt = []
  for (const message of prompt) {
    const last = merged.at(-1)
    // All tool results of one answer go into one message.
    if (last?.role === 'tool' && message.role === 'tool') last.content.push(...message.content)
    else merged.push(message)
  }
  return type === 'anthropic' ? withCaching(merged) : merged
}

/** Some providers accept system messages only at the beginning. */
function inOrder(messages: readonly Message[], type: ProviderType): readonly Message[] {
  if (type !== 'anthropic' && type !== 'google') return messages
  const instructions = messages.flatMap((message) => (message.role === 'system' ? [message.content] : []))
  const rest = messages.filter(({ role }) => role !== 'system')
  return instructions.length === 0 ? rest : [{ role: 'system', content: instructions.join('\n\n') }, ...rest]
}

/** The next step sends the same messages again, so mark them for the provider's prompt cache. */
function withCaching(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const cached = { anthropic: { cacheControl: { type: 'ephemeral' } } }
  return prompt.map((message, at) =>
    message.role === 'system' || at === prompt.length - 1 ? { ...message, providerOptions: cached } : message,
  )
}

function convert(message: Message, type: ProviderType): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content }
    case 'user':
      return {
        role: 'user',
        content:
          typeof message.content === 'string'
            ? [{ type: 'text', text: message.content }]
            : message.content.map((part) => contentOf(part)),
      }
    case 'assistant':
      return { role: 'assistant', content: answerOf(message, type) }
    case 'tool': {
      const { tool_call_id: toolCallId, tool_name: toolName } = message
      return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output: outputOf(message, type) }] }
    }
  }
}

function contentOf(part: ContentPart): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  return 'data' in part
    ? { type: 'file', mediaType: part.media_type, data: { type: 'data', data: part.data } }
    : { type: 'file', mediaType: part.media_type ?? 'image/*', data: { type: 'url', url: new URL(part.url) } }
}

/** Which image types a provider, and its AI SDK package, accept in tool results. */
const seen: Readonly<Partial<Record<ProviderType, RegExp>>> = {
  anthropic: /^image\/(png|jpeg|gif|webp)$/,
  google: /^image\/(png|jpeg|webp)$/,
}

function outputOf(
  { output, is_error: isError, pictures = [] }: ToolMessage,
  type: ProviderType,
): LanguageModelV4ToolResultPart['output'] {
  const shown = isError ? [] : pictures.filter(({ media_type }) => seen[type]?.test(media_type))
  if (shown.length > 0) {
    const text = typeof output === 'string' ? output : JSON.stringify(output)
    const files = shown.map(({ media_type: mediaType, data }) => ({
      type: 'file' as const,
      mediaType,
      data: { type: 'data' as const, data },
    }))
    return { type: 'content', value: [{ type: 'text', text }, ...files] }
  }
  if (isError) return failureOf(output, type)
  return typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output as never }
}

/**
 * The platform's errors are `{ error: … }`. The OpenAI and Google packages wrap errors in such an object themselves, so they
 * get the inner value. OpenAI-compatible APIs have no error flag and their package does not wrap, so it is done here.
 */
function failureOf(output: Json, type: ProviderType): LanguageModelV4ToolResultPart['output'] {
  const inner = isObject(output) && Object.keys(output).join() === 'error' ? output.error : output
  if (type === 'openai-compatible') return { type: 'json', value: { error: inner as never } }
  const sent = type === 'anthropic' ? output : inner
  return typeof sent === 'string' ? { type: 'error-text', value: sent } : { type: 'error-json', value: sent as never }
}

function answerOf(message: Assistant, type: ProviderType): AssistantContent {
  const { content, reasoning, tool_calls = [] } = message
  const kept = keptParts(message, type)
  const calls = new Map(tool_calls.map((call) => [call.id, call]))
  if (kept) {
    return kept.flatMap((part): AssistantContent => {
      const providerOptions = part.options && { providerOptions: part.options as never }
      if (part.type !== 'tool-call') return [{ type: part.type, text: part.text ?? '', ...providerOptions }]
      const call = calls.get(part.id ?? '')
      return call ? [{ ...callOf(call, type), ...providerOptions }] : []
    })
  }
  const text = textOf(content)
  return [
    // Providers that check signatures reject unsigned reasoning.
    ...(reasoning && type === 'openai-compatible' ? [{ type: 'reasoning' as const, text: reasoning }] : []),
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...tool_calls.map((call) => callOf(call, type)),
  ]
}

/** The stored parts, if they come from the same provider type and still match the message. */
function keptParts({ content, tool_calls = [], metadata }: Assistant, type: ProviderType): KeptPart[] | undefined {
  if (!metadata || metadata.type !== type || !Array.isArray(metadata.parts)) return undefined
  const parts = metadata.parts as unknown as KeptPart[]
  const text = parts.flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('')
  const ids = parts.flatMap((part) => (part.type === 'tool-call' ? [part.id] : []))
  const same = text === (content ?? '') && ids.length === tool_calls.length
  return same && tool_calls.every(({ id }) => ids.includes(id)) ? parts : undefined
}

function callOf(call: { id: string; name: string; args: string }, type: ProviderType): LanguageModelV4ToolCallPart {
  return { type: 'tool-call', toolCallId: call.id, toolName: call.name, input: inputOf(call.args, type) }
}

/** Arguments are sent back as the model wrote them. APIs that accept only objects get invalid JSON wrapped in one. */
function inputOf(args: string, type: ProviderType): unknown {
  try {
    const value: unknown = JSON.parse(args)
    if (isObject(value)) return value
  } catch {
    // Not JSON: handled below.
  }
  return type === 'anthropic' || type === 'google' ? { arguments: args } : args
}
