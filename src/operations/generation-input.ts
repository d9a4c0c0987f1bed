import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { AnyJson, isObject, type Json } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import type { ContentPart, Message } from '../model/message.ts'
import { Waiting } from '../model/outcome.ts'
import { Id, Text } from '../model/page.ts'
import { jsonObject } from '../model/tool.ts'
import type { Context } from './operation.ts'
import { call } from './tools.ts'

export const Part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: Text }),
  z.strictObject({
    type: z.literal('image'),
    media_type: z.string().regex(/^image\/[a-z0-9.+-]+$/i, 'must be an image media type'),
    data: z.base64(),
  }),
  z.strictObject({
    type: z.literal('image_url'),
    url: z
      .string()
      .max(8192)
      .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https URL'),
  }),
])

/** Inline content, or a reference to where it is stored. */
export const Content = z.union([
  Text,
  z.array(Part).min(1).max(100),
  z.strictObject({ type: z.literal('document'), document_id: Id }),
  z.strictObject({
    type: z.literal('tool_output'),
    tool_id: Id,
    action: Text.max(200).optional(),
    input: jsonObject('The arguments').optional(),
    output_path: z
      .string()
      .regex(/^\.?([A-Za-z0-9_-]+|\[\d+\])(\.[A-Za-z0-9_-]+|\[\d+\])*$/, 'must be a path such as ".data.items[0]"')
      .optional(),
  }),
])

export const InputMessage = z.union([
  z.strictObject({ role: z.enum(['system', 'user']), content: Content }),
  z.strictObject({
    role: z.literal('assistant'),
    content: Text.nullable(),
    tool_calls: z
      .array(
        z.strictObject({
          id: z.string().min(1),
          name: z.string().min(1),
          args: z.union([z.string(), jsonObject('The arguments')]),
        }),
      )
      .optional(),
  }),
  z.strictObject({
    role: z.literal('tool'),
    tool_call_id: z.string().min(1),
    tool_name: z.string().min(1),
    output: AnyJson,
    is_error: z.boolean().default(false),
  }),
])

export interface ConversationInput {
  readonly prompt?: string | undefined
  readonly messages?: readonly z.infer<typeof InputMessage>[] | undefined
}

/** The conversation for the model, in which references are replaced by documents and tool outputs. */
export async function messagesOf(
  { prompt, messages = [] }: ConversationInput,
  context: Context,
): Promise<Message[] | Waiting> {
  const said = await Promise.all(
    messages.map(async (message): Promise<Message | Waiting> => {
      if (message.role === 'assistant') {
        const { tool_calls, ...rest } = message
        const written = tool_calls?.map(({ args, ...one }) => ({
          ...one,
          args: typeof args === 'string' ? args : JSON.stringify(args),
        }))
        return { ...rest, ...(written && { tool_calls: written }) }
      }
      if (message.role === 'tool') return message as Message
      const content = await contentOf(message.content, context)
      if (content instanceof Waiting) return content
      if (message.role === 'system') {
        return { role: 'system', content: typeof content === 'string' ? content : content.map(plainText).join('\n') }
      }
      return { role: 'user', content }
    }),
  )
  const waiting = said.find((one) => one instanceof Waiting)
  if (waiting) return waiting
  const spoken = said as Message[]
  return prompt === undefined ? spoken : [...spoken, { role: 'user', content: prompt }]
}

const plainText = (part: ContentPart) => (part.type === 'text' ? part.text : '(an image)')

async function contentOf(
  content: z.infer<typeof Content>,
  context: Context,
): Promise<string | ContentPart[] | Waiting> {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) {
    return content.map((part) => (part.type === 'image_url' ? { type: 'image', url: part.url } : part))
  }
  if (content.type === 'document') {
    const document = await context.store.documents.find(content.document_id)
    const missing = new PlatformError('RESOURCE_NOT_FOUND', { kind: 'document', id: content.document_id })
    if (!document) throw missing
    const { id, project_id, path, tags } = document
    const resource = { projectId: project_id, kind: 'document', id, path, tags }
    if (!evaluate(context.principal, 'documents:GetDocument', resource).allowed) throw missing
    return document.content
  }
  const output = await call(content.tool_id, content.action, content.input, context)
  if (output instanceof Waiting) return output
  const value = content.output_path === undefined ? output.value : pick(output.value, content.output_path)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Reads a path such as `.data.items[0].name`. Returns null if it does not exist. */
function pick(value: Json, path: string): Json {
  return [...path.matchAll(/[A-Za-z0-9_-]+/g)].reduce<Json>((at, [key]) => {
    if (Array.isArray(at)) return at[Number(key)] ?? null
    return isObject(at) && Object.hasOwn(at, key) ? (at[key] ?? null) : null
  }, value)
}
