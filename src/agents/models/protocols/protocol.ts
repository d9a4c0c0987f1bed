import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../../lib/json.ts'
import type { ContentPart } from '../../../model/message.ts'
import type { ReplayFailure } from '../../../model/replay-script.ts'
import type { Conversation, ReplayAnswer } from '../replay.ts'

export interface Incoming {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: unknown
}

export interface ProviderRequest {
  readonly conversation: Conversation
  readonly stream: boolean
  /** Whether the client asked for usage at the end of the stream. */
  readonly wantsUsage?: boolean
}

/** One event of a stream. */
export interface Frame {
  readonly event?: string
  readonly data: JsonObject | '[DONE]'
  readonly delayMs?: number
}

/** The API of one provider, complete enough for that provider's own clients. */
export interface ProviderProtocol {
  /** Whether it handles a POST to this path. */
  takes(path: string): boolean
  /** The API key in the request headers. */
  keyOf(headers: Incoming['headers']): string | undefined
  /** Throws a `ZodError` if the provider would reject the request. */
  read(incoming: Incoming): ProviderRequest
  /** The response without streaming. */
  whole(performance: ReplayAnswer): JsonObject
  /** The frames of the streamed response: those up to the end of the text, and the rest. */
  frames(performance: ReplayAnswer, question: ProviderRequest): { readonly text: Frame[]; readonly rest: Frame[] }
  error(failure: Pick<ReplayFailure, 'status' | 'code' | 'message'>): JsonObject
}

/** Accepts unknown fields. */
export const loose = z.looseObject

export const textOfChunks = ({ chunks }: ReplayAnswer): string => chunks.map(({ text }) => text).join('')

/** Splits arguments into three parts, as a provider streams them. */
export const inParts = (text: string): string[] => {
  const size = Math.max(1, Math.ceil(text.length / 3))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size))
}

/** Parses a tool result if it is a JSON object or array; otherwise it stays text. */
export function readOutput(text: string): Json {
  try {
    const value: Json = JSON.parse(text)
    return typeof value === 'object' ? value : text
  } catch {
    return text
  }
}

/** For APIs whose arguments must be an object. */
export function readArgs(args: string): JsonObject {
  const value = readOutput(args)
  return isObject(value) ? value : {}
}

/** Accepts `data:image/png;base64,…` or the URL of an image. */
export function imageOf(url: string): ContentPart {
  const [, media_type, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
  return media_type && data !== undefined ? { type: 'image', media_type, data } : { type: 'image', url }
}
