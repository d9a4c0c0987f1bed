import type { JsonObject } from '../../lib/json.ts'
import type { Message, ToolCallPart } from '../../model/message.ts'
import type { AiProviderRecord } from '../../store/ai-providers.ts'

/** A tool as a model is told of it. */
export interface ModelTool {
  readonly name: string
  readonly description: string | null
  readonly schema: JsonObject
}

export type ToolChoice = 'auto' | 'required' | 'none' | { readonly tool_name: string }

/** What comes in while a model answers. After `reset` a retry begins anew: forget the deltas so far. */
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
  /** What must be sent back with the message later, such as the signature of its thinking. */
  readonly metadata: JsonObject | null
}

/** Whatever reaches a language model. Throws a `MODEL_…` error that says what to do, or the signal's reason. */
export interface Models {
  ask(provider: AiProviderRecord, request: ModelRequest): Promise<ModelAnswer>
  /** In US dollars; nothing where the provider has no price for the model. */
  costOf(provider: AiProviderRecord, model: string, usage: ModelUsage): number | null
  close(): Promise<void>
}
