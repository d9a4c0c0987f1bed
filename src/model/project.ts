import { z } from 'zod'
import { Text, Timestamp } from './page.ts'

/** The tenant: everything else belongs to one. */
export const Project = z.object({
  id: z.string(),
  name: z.string(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Project = z.infer<typeof Project>

export const ProjectName = Text.trim().min(1).max(200)
