import { setTimeout as sleep } from 'node:timers/promises'
import type { Vault } from '../../credentials/vault.ts'
import type { Outbound } from '../../http/outbound.ts'
import { PlatformError } from '../../model/errors.ts'
import type { ReplayStep } from '../../model/replay-script.ts'
import type { AiProviderRecord } from '../../store/ai-providers.ts'
import { sealedAt } from '../../store/sealed.ts'
import { askRedacted, type Credentials, redactorOf } from './credentials.ts'
import { type Failure, failureOf, ProviderError } from './failure.ts'
import type { ModelAnswer, ModelDelta, ModelRequest, Models, ModelUsage } from './model.ts'
import { recordedStep } from './record.ts'
import { loadScript, Player } from './replay.ts'
import { Watch } from './watch.ts'

export interface ModelsOptions {
  readonly outbound: Pick<Outbound, 'client'>
  readonly vault: Pick<Vault, 'open'>
  readonly recordings: { addRecorded(providerId: string, step: ReplayStep): Promise<void> }
  /** What is told when an answer could not be recorded: that must not cost the answer. */
  onFault?(error: unknown): void
  /** How long to wait before the first repetition; each further one waits twice as long. */
  readonly firstPauseMs?: number
}

const longestPause = 30_000
/** Who is to come back later than this is told so instead. */
const longestRetryAfter = 60_000
const mostPlayers = 100

export const createModels = (options: ModelsOptions): Models => new ProviderModels(options)

class ProviderModels implements Models {
  readonly #options: ModelsOptions
  readonly #closing = new AbortController()
  readonly #players = new Map<string, { readonly script: string; readonly player: Player }>()

  constructor(options: ModelsOptions) {
    this.#options = options
  }

  async ask(provider: AiProviderRecord, request: ModelRequest): Promise<ModelAnswer> {
    const signal = AbortSignal.any([request.signal, this.#closing.signal])
    signal.throwIfAborted()
    const credentials = this.#credentialsOf(provider)
    const secrets = redactorOf(credentials)
    const asked = { provider, model: request.model, secrets }
    for (let attempts = 1; ; attempts++) {
      const told = { any: false }
      try {
        const attempt = { ...request, signal, onDelta: telling(request, told) }
        const answer = await askRedacted(attempt, secrets, (each) => this.#attempt(provider, each, credentials))
        if (provider.record) await this.#record(provider, request, answer)
        return answer
      } catch (error) {
        if (signal.aborted) throw signal.reason
        const failure = failureOf(error, asked)
        const pause = attempts > provider.max_retries ? undefined : this.#pauseBefore(attempts, failure)
        if (pause === undefined) throw errorOf(failure, provider, attempts)
        await sleep(pause, undefined, { signal }).catch(() => {
          throw signal.reason
        })
        if (told.any) request.onDelta?.({ type: 'reset' })
      }
    }
  }

  costOf({ prices }: AiProviderRecord, model: string, usage: ModelUsage): number | null {
    const price = prices?.[model] ?? prices?.['*']
    if (!price) return null
    const cached = Math.min(usage.cached_input_tokens ?? 0, usage.input_tokens)
    const dollars =
      (usage.input_tokens - cached) * price.input +
      cached * (price.cached_input ?? price.input) +
      usage.output_tokens * price.output
    return dollars / 1e6
  }

  async close(): Promise<void> {
    this.#closing.abort(new PlatformError('SHUTTING_DOWN', {}))
  }

  async #attempt(provider: AiProviderRecord, request: ModelRequest, credentials: Credentials): Promise<ModelAnswer> {
    using watch = new Watch(request.signal, provider)
    try {
      if (provider.type === 'replay') return await askScript(this.#playerOf(provider), request, watch)
      // Loaded when first used: it takes longer to load than all the rest.
      const { askBySdk } = await import('./sdk.ts')
      const http = this.#options.outbound.client({
        project: provider.project_id,
        credentials: ['provider', provider.id, credentials],
      })
      return await askBySdk(provider, request, credentials, { http, watch })
    } catch (error) {
      // Whatever the end of an attempt looks like from inside, this is why.
      throw watch.signal.aborted ? watch.signal.reason : error
    }
  }

  /** Open only for as long as the asking takes. */
  #credentialsOf({ id, api_key, headers }: AiProviderRecord): Credentials {
    const { vault } = this.#options
    return {
      apiKey: api_key === null ? null : vault.open(api_key, sealedAt.providerKey(id)),
      headers: headers === null ? {} : JSON.parse(vault.open(headers, sealedAt.providerHeaders(id))),
    }
  }

  #playerOf({ id, name, script }: AiProviderRecord): Player {
    const known = this.#players.get(id)
    if (known && known.script === script) return known.player
    const player = new Player({ name, ...loadScript(script ?? '') })
    this.#players.delete(id)
    this.#players.set(id, { script: script ?? '', player })
    const [oldest] = this.#players.keys()
    if (this.#players.size > mostPlayers && oldest !== undefined) this.#players.delete(oldest)
    return player
  }

  /** How long to wait before trying again; nothing when that would be of no use. */
  #pauseBefore(attempts: number, failure: Failure): number | undefined {
    if (failure.kind === 'final' || (failure.kind === 'rate limited' && failure.quota)) return undefined
    const { retryAfterMs } = failure
    if (retryAfterMs !== undefined) return retryAfterMs > longestRetryAfter ? undefined : retryAfterMs
    const whole = Math.min(longestPause, (this.#options.firstPauseMs ?? 500) * 2 ** (attempts - 1))
    // Not all at once, those who were refused together.
    return whole * (0.5 + Math.random() / 2)
  }

  async #record(provider: AiProviderRecord, request: ModelRequest, answer: ModelAnswer): Promise<void> {
    try {
      await this.#options.recordings.addRecorded(provider.id, recordedStep(request, answer))
    } catch (error) {
      this.#options.onFault?.(error)
    }
  }
}

const telling =
  ({ onDelta }: ModelRequest, told: { any: boolean }) =>
  (delta: ModelDelta) => {
    told.any = true
    onDelta?.(delta)
  }

function errorOf(failure: Failure, { name: provider }: AiProviderRecord, attempts: number): unknown {
  switch (failure.kind) {
    case 'final':
      return failure.error
    case 'rate limited': {
      const { quota, retryAfterMs, cause } = failure
      const later = retryAfterMs !== undefined && { retry_after_seconds: Math.ceil(retryAfterMs / 1000) }
      return new PlatformError('MODEL_RATE_LIMITED', { provider, attempts, quota, ...later }, { cause })
    }
    case 'unavailable':
      return new PlatformError(
        'MODEL_UNAVAILABLE',
        { provider, attempts, reason: failure.reason },
        { cause: failure.cause },
      )
  }
}

/** Asks a script, in the way a provider would answer. */
async function askScript(player: Player, request: ModelRequest, watch: Watch): Promise<ModelAnswer> {
  const { model, messages, tools, onDelta } = request
  const played = player.play({ model, messages, tools: tools.map(({ name }) => name) })
  if (played.kind === 'error') {
    const { status, code, message, retry_after } = played.failure
    const retryAfterMs = retry_after === undefined ? undefined : retry_after * 1000
    throw new ProviderError({
      status,
      codes: code ? [code] : [],
      message: message ?? 'as the script says',
      retryAfterMs,
    })
  }
  const { performance } = played
  if (performance.delayMs > 0) await watch.pause(performance.delayMs)
  if (performance.reasoning) onDelta?.({ type: 'reasoning', text: performance.reasoning })
  for (const { text, delayMs } of performance.chunks) {
    if (delayMs > 0) await watch.pause(delayMs)
    watch.touch()
    onDelta?.({ type: 'text', text })
  }
  if (performance.end === 'stall') await watch.stall()
  if (performance.end === 'hang up') {
    throw new ProviderError({ status: undefined, codes: [], message: 'the answer broke off before its end' })
  }
  for (const { id, name, args } of performance.toolCalls) {
    onDelta?.({ type: 'tool_call', id, name })
    onDelta?.({ type: 'tool_args', id, text: args })
  }
  const text = performance.chunks.map((chunk) => chunk.text).join('')
  if (performance.finishReason === 'content_filter' && text === '' && performance.toolCalls.length === 0) {
    throw new ProviderError({ status: 400, codes: ['content_filter'], message: '' })
  }
  return {
    text,
    reasoning: performance.reasoning,
    tool_calls: [...performance.toolCalls],
    finish_reason: performance.finishReason,
    usage: performance.usage,
    model: performance.model,
    metadata: null,
  }
}
