import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../../lib/json.ts'
import type { ContentPart } from '../../../model/message.ts'
import type { ReplayFailure } from '../../../model/replay-script.ts'
import type { Conversation, Performance } from '../replay.ts'

export interface Incoming {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: unknown
}

export interface Question {
  readonly conversation: Conversation
  readonly stream: boolean
  /** Whether a stream ends with what it has used, where that is to be asked for. */
  readonly wantsUsage?: boolean
}

/** One event of a stream. */
export interface Frame {
  readonly event?: string
  readonly data: JsonObject | '[DONE]'
  readonly delayMs?: number
}

/** How one provider's API looks from outside: enough of it that the clients of that provider work. */
export interface Wire {
  /** Whether a POST to this path is for it. */
  takes(path: string): boolean
  /** The key that a request brings. */
  keyOf(headers: Incoming['headers']): string | undefined
  /** Throws a `ZodError` where the provider would refuse the request. */
  read(incoming: Incoming): Question
  /** All at once. */
  whole(performance: Performance): JsonObject
  /** What is sent up to the end of the text, and what comes after. */
  frames(performance: Performance, question: Question): { readonly text: Frame[]; readonly rest: Frame[] }
  error(failure: Pick<ReplayFailure, 'status' | 'code' | 'message'>): JsonObject
}

/** An object of which only these fields matter. */
export const loose = z.looseObject

export const textOfChunks = ({ chunks }: Performance): string => chunks.map(({ text }) => text).join('')

/** In a few parts, as arguments come. */
export const inParts = (text: string): string[] => {
  const size = Math.max(1, Math.ceil(text.length / 3))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size))
}

/** What a tool's result says, where it is JSON in a text. */
export function readOutput(text: string): Json {
  try {
    const value: Json = JSON.parse(text)
    return typeof value === 'object' ? value : text
  } catch {
    return text
  }
}

/** For the APIs in which arguments are an object and nothing else. */
export function readArgs(args: string): JsonObject {
  const value = readOutput(args)
  return isObject(value) ? (value as JsonObject) : {}
}

/** `data:image/png;base64,…`, or the address of an image. */
export function imageOf(url: string): ContentPart {
  const [, media_type, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
  return media_type && data !== undefined ? { type: 'image', media_type, data } : { type: 'image', url }
}
