import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import type { HttpClient } from '../../http/outbound.ts'
import type { JsonObject } from '../../lib/json.ts'
import { PlatformError } from '../../model/errors.ts'
import type { ToolCallPart } from '../../model/message.ts'
import type { AiProviderRecord } from '../../store/ai-providers.ts'
import { addressOf } from './address.ts'
import { type Credentials, redactorOf } from './credentials.ts'
import { excerptOf, ProviderError, SdkFailure } from './failure.ts'
import type { FinishReason, ModelAnswer, ModelRequest, ModelUsage } from './model.ts'
import { type KeptPart, optionsOf } from './prompt.ts'
import type { Watch } from './watch.ts'

/** Makes one attempt, through the provider packages of the AI SDK. */
export async function askBySdk(
  provider: AiProviderRecord,
  request: ModelRequest,
  credentials: Credentials,
  { http, watch }: { http: Pick<HttpClient, 'fetch'>; watch: Watch },
): Promise<ModelAnswer> {
  const modelBy = (fetch: typeof globalThis.fetch) => languageModelOf(provider, request.model, credentials, fetch)
  const options = { ...optionsOf(request, provider.type), abortSignal: watch.signal }
  const reader = new AnswerReader(provider, request)
  const send = guardedFetch(provider, credentials, http, watch)
  let whole: Response | undefined
  const streaming = modelBy(async (input, init) => {
    const response = await send(input, init)
    if (!response.ok || !isJson(response)) return response
    whole = response
    throw new Error('the provider ignored "stream" and sent a complete response')
  })
  try {
    await readStream(streaming, options, reader)
  } catch (error) {
    if (!whole) throw error
    await readWhole(whole, modelBy, options, reader, { provider, credentials })
  }
  return reader.answer()
}

async function readStream(model: LanguageModelV4, options: LanguageModelV4CallOptions, reader: AnswerReader) {
  const { stream } = await bySdk(() => model.doStream(options))
  const parts = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await bySdk(() => parts.read())
      if (done) return
      reader.take(value)
    }
  } finally {
    // If reading stopped early, close the connection.
    void parts.cancel().catch(() => {})
  }
}

/** Some providers ignore `stream`. Their response is parsed as one to a request without it. */
async function readWhole(
  { status, headers, body }: Response,
  modelBy: (fetch: typeof globalThis.fetch) => LanguageModelV4,
  options: LanguageModelV4CallOptions,
  reader: AnswerReader,
  { provider, credentials }: { provider: AiProviderRecord; credentials: Credentials },
): Promise<void> {
  const text = await bySdk(() => new Response(body).text())
  const model = modelBy(async () => new Response(text, { status, headers }))
  const result = await model.doGenerate(options).then(
    (one) => one,
    () => undefined,
  )
  // Google's package reads any JSON as an empty answer.
  if (!result || (result.content.length === 0 && result.finishReason.raw === undefined)) {
    throw answerInvalid('it is application/json, but neither an event stream nor a complete response', text, {
      provider,
      credentials,
    })
  }
  for (const part of streamPartsOf(result)) reader.take(part)
}

/** Converts a complete answer into the parts of a stream. */
function streamPartsOf({ content, finishReason, usage, response }: LanguageModelV4GenerateResult) {
  const parts = content.flatMap((part, index): LanguageModelV4StreamPart[] => {
    if (part.type === 'tool-call') return [part]
    if (part.type !== 'text' && part.type !== 'reasoning') return []
    const { type, text: delta, providerMetadata } = part
    return [{ type: `${type}-delta`, id: String(index), delta, ...(providerMetadata && { providerMetadata }) }]
  })
  const start: LanguageModelV4StreamPart[] = response?.modelId
    ? [{ type: 'response-metadata', modelId: response.modelId }]
    : []
  return [...start, ...parts, { type: 'finish', finishReason, usage } satisfies LanguageModelV4StreamPart]
}

const typeOf = (response: Response): string => response.headers.get('content-type')?.split(';')[0]?.trim() ?? ''

const isJson = (response: Response): boolean => /^application\/([\w.-]+\+)?json$/i.test(typeOf(response))

function answerInvalid(
  reason: string,
  text: string,
  { provider, credentials }: { provider: AiProviderRecord; credentials: Credentials },
): PlatformError {
  const excerpt = excerptOf(text, redactorOf(credentials))
  return new PlatformError('MODEL_ANSWER_INVALID', { provider: provider.name, reason, excerpt })
}

async function bySdk<T>(work: () => PromiseLike<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new SdkFailure('the AI SDK failed', { cause })
  }
}

/** Key and base URL are always set, because the packages would read missing ones from the environment. */
function languageModelOf(
  provider: AiProviderRecord,
  model: string,
  { apiKey }: Credentials,
  fetch: typeof globalThis.fetch,
): LanguageModelV4 {
  const settings = { baseURL: addressOf(provider), apiKey: apiKey ?? '', fetch }
  switch (provider.type) {
    case 'openai':
      // Chat completions, not responses: the platform keeps the conversation, the provider stores nothing.
      return createOpenAI(settings).chat(model)
    case 'anthropic':
      return createAnthropic(settings).languageModel(model)
    case 'google':
      return createGoogle(settings).languageModel(model)
    default:
      return createOpenAICompatible({ ...settings, name: 'openaiCompatible', includeUsage: true }).chatModel(model)
  }
}

const keyHeaders = ['authorization', 'x-api-key', 'x-goog-api-key']

/** A fetch through the outbound guard. Redirects are not followed: another host must not get the key. */
function guardedFetch(
  provider: AiProviderRecord,
  credentials: Credentials,
  http: Pick<HttpClient, 'fetch'>,
  watch: Watch,
): typeof globalThis.fetch {
  const { apiKey, headers: own } = credentials
  return async (input, init) => {
    const headers = new Headers(init?.headers)
    if (apiKey === null) for (const name of keyHeaders) headers.delete(name)
    // Set last and through `Headers`, so that they replace the package's own headers regardless of case.
    for (const [name, value] of Object.entries(own)) headers.set(name, value)
    const response = await http.fetch(input, { ...init, headers: Object.fromEntries(headers), redirect: 'manual' })
    watch.touch()
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel()
      const message = `it redirects to ${response.headers.get('location') ?? 'another address'}: set that as base_url`
      throw new ProviderError({ status: response.status, codes: [], message })
    }
    const type = typeOf(response)
    if (response.ok && type.toLowerCase() === 'text/html') {
      throw answerInvalid(`it is ${type}, not an event stream`, await response.text(), { provider, credentials })
    }
    const body = response.body?.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          watch.touch()
          controller.enqueue(chunk)
        },
      }),
    )
    return new Response(body ?? null, { status: response.status, headers: [...response.headers] })
  }
}

/** More than any model writes in one answer; a provider that exceeds it is misbehaving. */
const maxCharacters = 4_000_000
const maxCalls = 1000

const finishReasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
}

/** Assembles an answer from the parts of its stream. */
class AnswerReader {
  readonly #provider: AiProviderRecord
  readonly #request: ModelRequest
  readonly #parts = new Map<string, { type: 'text' | 'reasoning'; text: string; options?: JsonObject }>()
  readonly #order: ({ kind: 'part'; key: string } | { kind: 'call'; id: string; options?: JsonObject })[] = []
  readonly #calls: ToolCallPart[] = []
  readonly #started = new Set<string>()
  #characters = 0
  #model: string
  #finish: Extract<LanguageModelV4StreamPart, { type: 'finish' }> | undefined

  constructor(provider: AiProviderRecord, request: ModelRequest) {
    this.#provider = provider
    this.#request = request
    this.#model = request.model
  }

  take(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        this.#say('text', part)
        break
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#say('reasoning', part)
        break
      case 'tool-input-start':
        this.#startCall(part.id, part.toolName)
        break
      case 'tool-input-delta':
        this.#grow(part.delta.length)
        this.#request.onDelta?.({ type: 'tool_args', id: part.id, text: part.delta })
        break
      case 'tool-call':
        this.#call(part)
        break
      case 'response-metadata':
        if (part.modelId) this.#model = part.modelId
        break
      case 'finish':
        this.#finish = part
        break
      case 'error':
        throw new SdkFailure('the AI SDK reported an error', { cause: part.error })
    }
  }

  answer(): ModelAnswer {
    const reason = this.#finish?.finishReason
    if (!reason || reason.unified === 'interrupted' || reason.unified === 'error') {
      throw new ProviderError({ status: undefined, codes: [], message: 'the response ended early' })
    }
    const text = this.#textOf('text')
    const finish = finishReasons[reason.unified] ?? 'other'
    if (finish === 'content_filter' && text === '' && this.#calls.length === 0) {
      throw new PlatformError('MODEL_REFUSED', { provider: this.#provider.name, model: this.#request.model })
    }
    return {
      text,
      reasoning: this.#textOf('reasoning') || null,
      tool_calls: this.#calls,
      // Some providers say "stop" even with tool calls.
      finish_reason: this.#calls.length > 0 && finish === 'stop' ? 'tool_calls' : finish,
      usage: usageOf(this.#finish?.usage),
      model: this.#model,
      metadata: this.#metadata(),
    }
  }

  #say(
    type: 'text' | 'reasoning',
    part: { id: string; delta?: string; providerMetadata?: Record<string, unknown> | undefined },
  ): void {
    const key = `${type} ${part.id}`
    let said = this.#parts.get(key)
    if (!said) {
      said = { type, text: '' }
      this.#parts.set(key, said)
      this.#order.push({ kind: 'part', key })
    }
    if (part.providerMetadata) said.options = merged(said.options, part.providerMetadata)
    if (!part.delta) return
    this.#grow(part.delta.length)
    said.text += part.delta
    this.#request.onDelta?.({ type, text: part.delta })
  }

  #startCall(id: string, name: string): void {
    if (this.#started.has(id)) return
    this.#started.add(id)
    this.#request.onDelta?.({ type: 'tool_call', id, name })
  }

  #call(part: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>): void {
    const { toolCallId, toolName: name, input, providerMetadata } = part
    // Tool results refer to calls by id, so ids must be unique.
    const id = this.#calls.some((call) => call.id === toolCallId) ? `${toolCallId}_${this.#calls.length}` : toolCallId
    if (!this.#started.has(id)) {
      this.#startCall(id, name)
      this.#request.onDelta?.({ type: 'tool_args', id, text: input })
    }
    this.#grow(0)
    this.#calls.push({ id, name, args: input })
    this.#order.push({ kind: 'call', id, ...(providerMetadata && { options: merged(undefined, providerMetadata) }) })
  }

  #grow(by: number): void {
    this.#characters += by
    if (this.#characters <= maxCharacters && this.#calls.length <= maxCalls) return
    throw new PlatformError('MODEL_ANSWER_INVALID', { provider: this.#provider.name, reason: 'it has no end' })
  }

  #textOf(type: 'text' | 'reasoning'): string {
    return [...this.#parts.values()].flatMap((part) => (part.type === type ? [part.text] : [])).join('')
  }

  /** The parts with their provider metadata; null if no part has any. */
  #metadata(): JsonObject | null {
    const parts = this.#order.map((one): KeptPart => {
      if (one.kind === 'call') return { type: 'tool-call', id: one.id, ...(one.options && { options: one.options }) }
      return this.#parts.get(one.key) as KeptPart
    })
    if (parts.every(({ options }) => options === undefined || Object.values(options).every(isEmpty))) return null
    return { type: this.#provider.type, parts: parts as never }
  }
}

const isEmpty = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length === 0

/** Merges per namespace and field: the start and the end of a part may carry different metadata. */
function merged(before: JsonObject | undefined, added: Readonly<Record<string, unknown>>): JsonObject {
  const result: JsonObject = { ...before }
  for (const [name, fields] of Object.entries(JSON.parse(JSON.stringify(added)) as Record<string, JsonObject>)) {
    result[name] = { ...(result[name] as JsonObject | undefined), ...fields }
  }
  return result
}

function usageOf(usage: LanguageModelV4Usage | undefined): ModelUsage {
  return {
    input_tokens: usage?.inputTokens.total ?? 0,
    output_tokens: usage?.outputTokens.total ?? 0,
    cached_input_tokens: usage?.inputTokens.cacheRead ?? null,
  }
}
