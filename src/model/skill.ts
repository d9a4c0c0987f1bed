import { z } from 'zod'
import { Text, Timestamp } from './page.ts'

export const SkillFields = {
  name: Text.trim().min(1).max(200),
  summary: Text.max(2000).describe('One or two sentences that help an agent decide whether to load it'),
  category: Text.max(200).nullable(),
  apps: z.array(z.string().min(1).max(64)).max(200).describe('Slugs of the apps it covers'),
  content: Text.describe('The procedure, in Markdown'),
  enabled: z.boolean(),
}

/** A procedure that an agent can load. */
export const Skill = z.object({
  id: z.string(),
  project_id: z.string(),
  ...SkillFields,
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Skill = z.infer<typeof Skill>
export type SkillDraft = Omit<Skill, 'id' | 'project_id' | 'created_at' | 'updated_at'>
