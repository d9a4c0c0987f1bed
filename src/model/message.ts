import { z } from 'zod'
import { AnyJson, type Json, type JsonObject } from '../lib/json.ts'
import type { Picture } from './picture.ts'

/** A tool call of a model. `args` is the text as the model wrote it, JSON or not. */
export type ToolCallPart = { id: string; name: string; args: string }

export type ContentPart =
  | { type: 'text'; text: string }
  | { type: 'image'; media_type: string; data: string }
  | { type: 'image'; media_type?: string | undefined; url: string }

/** A message of a conversation, in the same format for every provider. */
export type Message =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | ContentPart[] }
  | {
      role: 'assistant'
      content: string | null
      reasoning?: string | undefined
      tool_calls?: ToolCallPart[] | undefined
      /** Data that the provider needs back with the message, such as the signature of its reasoning. */
      metadata?: JsonObject | undefined
    }
  | {
      role: 'tool'
      tool_call_id: string
      tool_name: string
      output: Json
      is_error: boolean
      /** Images in the output, for models with vision. */
      pictures?: readonly Picture[] | undefined
    }

const Part = z.union([
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('image'),
    media_type: z.string().regex(/^image\/[\w.+-]+$/, 'must be an image media type, such as image/png'),
    data: z.base64(),
  }),
  z.strictObject({
    type: z.literal('image'),
    media_type: z
      .string()
      .regex(/^image\/[\w.+-]+$/, 'must be an image media type, such as image/png')
      .optional(),
    url: z
      .string()
      .max(8192)
      .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https URL'),
  }),
])

/** The schema of a message that callers send. */
export const Message: z.ZodType<Message> = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string() }),
  z.strictObject({ role: z.literal('user'), content: z.union([z.string(), z.array(Part).min(1).max(100)]) }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    reasoning: z.string().optional(),
    tool_calls: z.array(z.strictObject({ id: z.string(), name: z.string(), args: z.string() })).optional(),
    metadata: z.custom<JsonObject>().optional(),
  }),
  z.strictObject({
    role: z.literal('tool'),
    tool_call_id: z.string(),
    tool_name: z.string(),
    output: AnyJson,
    is_error: z.boolean(),
  }),
])

/** The text of a message, without its images. */
export const textOf = (content: string | readonly ContentPart[] | null): string =>
  typeof content === 'string'
    ? content
    : (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
