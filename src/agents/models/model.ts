import type { JsonObject } from '../../model/json.ts'
import type { Message, ToolCallPart } from '../../model/message.ts'

export interface ModelTool {
  readonly name: string
  readonly description: string | null
  readonly schema: JsonObject
}

export type Delta =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_args'; readonly id: string; readonly text: string }
  /** A retry starts anew: what came so far is void. */
  | { readonly type: 'reset' }

export interface ModelRequest {
  readonly model: string
  readonly messages: readonly Message[]
  readonly tools: readonly ModelTool[]
  readonly toolChoice: 'auto' | 'required' | 'none' | { readonly tool_name: string }
  readonly temperature: number | null
  readonly signal: AbortSignal
  onDelta?(delta: Delta): void
}

export interface ModelAnswer {
  readonly text: string
  readonly reasoning: string | null
  readonly tool_calls: readonly ToolCallPart[]
  readonly finish_reason: 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'other'
  readonly usage: {
    readonly input_tokens: number
    readonly output_tokens: number
    readonly cached_input_tokens: number | null
  }
  readonly model: string
  readonly metadata: JsonObject | null
}
