import { z } from 'zod'

/** Pagination parameters of a list. */
export const Paging = {
  limit: z.int().min(1).max(500).default(50).describe('Maximum number of items to return'),
  offset: z.int().min(0).max(10_000_000).default(0).describe('Number of items to skip'),
}

export interface Window {
  readonly limit: number
  readonly offset: number
}

export interface Page<T> extends Window {
  readonly data: T[]
  readonly total: number
}

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ data: z.array(item), total: z.int(), limit: z.int(), offset: z.int() })

/** Times are stored as milliseconds and returned as ISO 8601. */
export const Timestamp = z.iso.datetime()
export const iso = (milliseconds: number): string => new Date(milliseconds).toISOString()

export const Tags = z
  .record(z.string().min(1).max(128), z.string().max(256))
  .refine((tags) => Object.keys(tags).length <= 50, 'at most 50 tags')
export type Tags = z.infer<typeof Tags>

/** Ids are opaque: any printable text without spaces is looked up, and unknown ids are simply not found. */
export const Id = z
  .string()
  .max(128)
  .regex(/^[\x21-\x7e]+$/, 'is not an id')

/** Makes text storable in every database, for input that cannot be rejected, such as the response of a tool or model. */
export const keepable = (text: string): string => text.replaceAll('\0', '').toWellFormed()

/** Text that every database can store. */
export const Text = z
  .string()
  .refine(
    (text) => !text.includes('\0') && text.isWellFormed(),
    'contains a NUL character or invalid Unicode, which cannot be stored',
  )
