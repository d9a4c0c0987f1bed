import { z } from 'zod'

/** What JSON can hold. */
export type Json = string | number | boolean | null | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Any JSON at all, as in the answer of a tool. */
export const AnyJson = z.custom<Json>()
