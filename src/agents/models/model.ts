import type { JsonObject } from '../../lib/json.ts'
import type { Message, ToolCallPart } from '../../model/message.ts'
import type { AiProviderRecord } from '../../store/ai-providers.ts'

/** A tool as it is described to a model. */
export interface ModelTool {
  readonly name: string
  readonly description: string | null
  readonly schema: JsonObject
}

export type ToolChoice = 'auto' | 'required' | 'none' | { readonly tool_name: string }

/** A part of a streamed answer. `reset` means that the request is retried: discard all deltas so far. */
export type ModelDelta =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_args'; readonly id: string; readonly text: string }
  | { readonly type: 'reset' }

export interface ModelRequest {
  readonly model: string
  readonly messages: readonly Message[]
  readonly tools: readonly ModelTool[]
  readonly toolChoice: ToolChoice
  readonly temperature: number | null
  readonly signal: AbortSignal
  onDelta?(delta: ModelDelta): void
}

export interface ModelUsage {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cached_input_tokens: number | null
}

export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'other'

export interface ModelAnswer {
  readonly text: string
  readonly reasoning: string | null
  readonly tool_calls: ToolCallPart[]
  readonly finish_reason: FinishReason
  readonly usage: ModelUsage
  readonly model: string
  /** Must be sent back with the message in later requests; for example, the signature of its thinking. */
  readonly metadata: JsonObject | null
}

/** Calls language models. Throws a `MODEL_…` error that says what to do, or the abort reason of the signal. */
export interface Models {
  generate(provider: AiProviderRecord, request: ModelRequest): Promise<ModelAnswer>
  /** In US dollars; null if the provider has no price for the model. */
  costOf(provider: AiProviderRecord, model: string, usage: ModelUsage): number | null
  close(): Promise<void>
}
