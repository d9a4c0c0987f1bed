import { setTimeout as sleep } from 'node:timers/promises'
import type { Vault } from '../../credentials/vault.ts'
import type { Outbound } from '../../http/outbound.ts'
import { backoffMs } from '../../lib/backoff.ts'
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
  /** Called when an answer could not be recorded. The answer is returned anyway. */
  onFault?(error: unknown): void
  /** The delay before the first retry; it doubles with each further one. */
  readonly firstPauseMs?: number
}

const longestPause = 30_000
/** If the provider asks for a longer wait than this, the request fails at once. */
const longestRetryAfter = 60_000
const maxPlayers = 100

export const createModels = (options: ModelsOptions): Models => new ProviderModels(options)

class ProviderModels implements Models {
  readonly #options: ModelsOptions
  readonly #closing = new AbortController()
  readonly #players = new Map<string, { readonly script: string; readonly player: Player }>()

  constructor(options: ModelsOptions) {
    this.#options = options
  }

  async generate(provider: AiProviderRecord, request: ModelRequest): Promise<ModelAnswer> {
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
      if (provider.type === 'replay') return await playScript(this.#playerOf(provider), request, watch)
      // Loaded on first use: it takes longer to load than the rest of the server.
      const { askBySdk } = await import('./sdk.ts')
      const http = this.#options.outbound.client({
        project: provider.project_id,
        credentials: ['provider', provider.id, credentials],
      })
      return await askBySdk(provider, request, credentials, { http, watch })
    } catch (error) {
      // The abort is the actual cause, whatever error it surfaced as.
      throw watch.signal.aborted ? watch.signal.reason : error
    }
  }

  /** Decrypted per request, and not cached. */
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
    if (this.#players.size > maxPlayers && oldest !== undefined) this.#players.delete(oldest)
    return player
  }

  /** The delay before the next attempt; undefined if a retry is pointless. */
  #pauseBefore(attempts: number, failure: Failure): number | undefined {
    if (failure.kind === 'final' || (failure.kind === 'rate limited' && failure.quota)) return undefined
    const { retryAfterMs } = failure
    if (retryAfterMs !== undefined) return retryAfterMs > longestRetryAfter ? undefined : retryAfterMs
    return backoffMs(attempts, { firstMs: this.#options.firstPauseMs ?? 500, maxMs: longestPause })
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

/** Plays a replay script as if it were a provider, with its delays and failures. */
async function playScript(player: Player, request: ModelRequest, watch: Watch): Promise<ModelAnswer> {
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
    throw new ProviderError({ status: undefined, codes: [], message: 'the response ended early' })
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
