import type { Json, JsonObject } from './json.ts'

/** A call as a model wrote it; `args` is the JSON text, which may be none. */
export interface ToolCallPart {
  readonly id: string
  readonly name: string
  readonly args: string
}

export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly media_type: string; readonly data?: string; readonly url?: string }

/** One message of a conversation with a model. */
export type Message =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly ContentPart[] }
  | {
      readonly role: 'assistant'
      readonly content: string | null
      readonly reasoning?: string
      readonly tool_calls?: readonly ToolCallPart[]
      readonly metadata?: JsonObject
    }
  | {
      readonly role: 'tool'
      readonly tool_call_id: string
      readonly tool_name: string
      readonly output: Json
      readonly is_error: boolean
    }
