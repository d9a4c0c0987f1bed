import { z } from 'zod'
import { Tags, Text, Timestamp } from './page.ts'

/** `/reports/2026/q3.md`: absolute, no empty or dotted parts. */
export const Path = Text.min(1)
  .max(1024)
  .transform((path) => (path.startsWith('/') ? path : `/${path}`))
  .refine(isPath, 'must be a path such as "/reports/q3.md", without empty parts, ".", ".." or "*"')

function isPath(path: string): boolean {
  const parts = path.slice(1).split('/')
  return !/[\p{Cc}*]/u.test(path) && parts.every((part) => part !== '' && part !== '.' && part !== '..')
}

export const Document = z.object({
  id: z.string(),
  project_id: z.string(),
  path: z.string(),
  content: z.string(),
  tags: Tags,
  size: z.int().describe('Size of the content in bytes (UTF-8)'),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Document = z.infer<typeof Document>

export const DocumentSummary = Document.omit({ content: true })
export type DocumentSummary = z.infer<typeof DocumentSummary>

export const DocumentMatch = DocumentSummary.extend({
  score: z.number().describe('Higher is better; only comparable within one response'),
  snippet: z.string().describe('The matching part of the text, with matches in **bold**'),
})
export type DocumentMatch = z.infer<typeof DocumentMatch>

export const File = z.object({
  id: z.string(),
  project_id: z.string(),
  path: z.string(),
  content_type: z.string(),
  tags: Tags,
  size: z.int(),
  sha256: z.string(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type File = z.infer<typeof File>
