import { createHash, randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Json, JsonObject } from '../../../lib/json.ts'
import type { ContentPart, Message } from '../../../model/message.ts'
import type { FinishReason } from '../model.ts'
import type { ReplayAnswer } from '../replay.ts'
import { type Frame, loose, type ProviderProtocol, readArgs, textOfChunks } from './protocol.ts'

const Part = loose({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  inlineData: loose({ mimeType: z.string(), data: z.string() }).optional(),
  fileData: loose({ fileUri: z.string() }).optional(),
  functionCall: loose({
    id: z.string().optional(),
    name: z.string(),
    args: z.record(z.string(), z.unknown()).optional(),
  }).optional(),
  functionResponse: loose({
    id: z.string().optional(),
    name: z.string(),
    response: z.record(z.string(), z.custom<Json>()),
  }).optional(),
})
type Part = z.infer<typeof Part>

const Request = loose({
  systemInstruction: loose({ parts: z.array(loose({ text: z.string() })) }).nullish(),
  contents: z.array(loose({ role: z.enum(['user', 'model']).optional(), parts: z.array(Part).min(1) })).min(1),
  tools: z.array(loose({ functionDeclarations: z.array(loose({ name: z.string() })).optional() })).nullish(),
})

/** Google's Gemini API. */
export const google: ProviderProtocol = {
  takes: (path) => /\/models\/[^/]+:(streamGenerateContent|generateContent)$/.test(path),

  keyOf: (headers) => {
    const key = headers['x-goog-api-key']
    return typeof key === 'string' ? key : undefined
  },

  read({ path, body }) {
    const { systemInstruction, contents, tools } = Request.parse(body)
    const [, model = '', method] = /\/models\/([^/]+):(\w+)$/.exec(path) ?? []
    const system = (systemInstruction?.parts ?? []).map(({ text }) => text).join('\n')
    const messages = contents.flatMap(({ role, parts }) =>
      role === 'model' ? [modelMessage(parts)] : userMessages(parts),
    )
    return {
      conversation: {
        model: decodeURIComponent(model),
        messages: system === '' ? messages : [{ role: 'system', content: system }, ...messages],
        tools: (tools ?? []).flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name)),
      },
      stream: method === 'streamGenerateContent',
    }
  },

  whole(performance) {
    const text = textOfChunks(performance)
    const parts = [...thought(performance), ...(text === '' ? [] : [{ text }]), ...calls(performance)]
    return answer(performance, parts, finishReasons[performance.finishReason])
  },

  frames(performance) {
    const frame = (parts: JsonObject[], finish?: string): Frame => ({ data: answer(performance, parts, finish) })
    return {
      text: [
        ...(performance.reasoning === null ? [] : [frame(thought(performance))]),
        ...performance.chunks.map(({ text, delayMs }, at) => ({
          ...frame([{ text }]),
          delayMs: delayMs + (at === 0 ? performance.delayMs : 0),
        })),
      ],
      rest: [
        ...(performance.toolCalls.length === 0 ? [] : [frame(calls(performance))]),
        frame([{ text: '' }], finishReasons[performance.finishReason]),
      ],
    }
  },

  error({ status, code, message = 'as the script says' }) {
    return { error: { code: status, message, status: code ?? kinds[status] ?? 'UNKNOWN' } }
  },
}

const kinds: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  // This API has no separate reason for tool calls.
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
  other: 'OTHER',
}

const answer = ({ model, usage }: ReplayAnswer, parts: JsonObject[], finishReason?: string): JsonObject => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...(finishReason && { finishReason }) }],
  usageMetadata: {
    promptTokenCount: usage.input_tokens,
    candidatesTokenCount: usage.output_tokens,
    totalTokenCount: usage.input_tokens + usage.output_tokens,
    ...(usage.cached_input_tokens !== null && { cachedContentTokenCount: usage.cached_input_tokens }),
  },
  modelVersion: model,
  responseId: randomUUID(),
})

const thought = ({ reasoning }: ReplayAnswer): JsonObject[] =>
  reasoning === null ? [] : [{ text: reasoning, thought: true }]

/** The first call after a thought carries its signature. */
const calls = ({ toolCalls, reasoning }: ReplayAnswer): JsonObject[] =>
  toolCalls.map(({ id, name, args }, at) => ({
    functionCall: { id, name, args: readArgs(args) },
    ...(at === 0 &&
      reasoning !== null && { thoughtSignature: createHash('sha256').update(reasoning).digest('base64') }),
  }))

function userMessages(parts: readonly Part[]): Message[] {
  const results = parts.flatMap(({ functionResponse }): Message[] => {
    if (!functionResponse) return []
    const { id, name, response } = functionResponse
    const failed = 'error' in response
    const output = (failed ? response.error : 'content' in response ? response.content : response) as Json
    return [{ role: 'tool', tool_call_id: id ?? name, tool_name: name, output, is_error: failed }]
  })
  const said = parts.flatMap(({ text, inlineData, fileData }): ContentPart[] => {
    if (text !== undefined) return [{ type: 'text', text }]
    if (inlineData) return [{ type: 'image', media_type: inlineData.mimeType, data: inlineData.data }]
    return fileData ? [{ type: 'image', url: fileData.fileUri }] : []
  })
  return said.length === 0 ? results : [...results, { role: 'user', content: said }]
}

function modelMessage(parts: readonly Part[]): Message {
  const text = parts.flatMap((part) => (part.text !== undefined && !part.thought ? [part.text] : [])).join('')
  const tool_calls = parts.flatMap(({ functionCall: call }) =>
    call ? [{ id: call.id ?? call.name, name: call.name, args: JSON.stringify(call.args ?? {}) }] : [],
  )
  return { role: 'assistant', content: text || null, ...(tool_calls.length > 0 && { tool_calls }) }
}
