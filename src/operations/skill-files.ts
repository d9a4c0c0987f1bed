import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { PlatformError } from '../model/errors.ts'
import { Id, Text } from '../model/page.ts'
import { Skill, type SkillDraft } from '../model/skill.ts'
import { printSkill, readSkill } from '../model/skill-file.ts'
import { acts, type Context, creates } from './operation.ts'
import { createSkill, skill, updateSkill } from './skills.ts'

export const importSkills = creates({
  name: 'import-skills',
  permission: 'skills:ImportSkills',
  route: 'POST /skills/import',
  summary: 'Import skills from SKILL.md folders; a skill with the same name is replaced',
  example: { files: { 'refunds/SKILL.md': '---\nname: refunds\ndescription: How to refund\n---\nLook first.' } },
  kind: 'skill',
  status: 200,
  input: z.strictObject({
    project_id: Id.optional(),
    files: z.record(Text.min(1).max(1024), Text).describe('The text of each file, by its path'),
  }),
  output: z.object({
    created: z.array(Skill),
    updated: z.array(Skill),
    skipped: z.array(z.object({ path: z.string(), reason: z.string() })),
    not_taken_over: z
      .array(z.object({ path: z.string(), field: z.string() }))
      .describe('Front matter fields that could not be imported'),
  }),
  async run({ files }, context) {
    const created: Skill[] = []
    const updated: Skill[] = []
    const skipped: { path: string; reason: string }[] = []
    const fields: { path: string; field: string }[] = []
    for (const [index, [path, content]] of Object.entries(files).entries()) {
      // Yield to other requests: SQLite is synchronous, so nothing in this loop does.
      if (index % 20 === 19) await setImmediate()
      if (!/(^|\/)SKILL\.md$/i.test(path)) {
        skipped.push({ path, reason: 'Only SKILL.md files are imported.' })
        continue
      }
      try {
        const { draft, notTakenOver } = readSkill({ path, content })
        const { skill: taken, isNew } = await takeOver(draft, context)
        ;(isNew ? created : updated).push(taken)
        fields.push(...notTakenOver.map((field) => ({ path, field })))
      } catch (error) {
        if (!(error instanceof PlatformError)) throw error
        skipped.push({ path, reason: error.message })
      }
    }
    return { created, updated, skipped, not_taken_over: fields }
  },
})

async function takeOver({ enabled: _, ...draft }: SkillDraft, context: Context & { projectId: string }) {
  const known = await context.store.skills.findByName(context.projectId, draft.name)
  const taken = known
    ? await updateSkill.perform({ id: known.id, ...draft }, context)
    : await createSkill.perform({ project_id: context.projectId, ...draft }, context)
  return { skill: taken as Skill, isNew: !known }
}

export const exportSkill = acts({
  name: 'export-skill',
  permission: 'skills:ExportSkill',
  route: 'GET /skills/{skill_id}/export',
  summary: 'Get a skill as a SKILL.md file',
  on: skill,
  input: z.strictObject({ id: Id }),
  output: z.object({ path: z.string(), content: z.string() }),
  run: async (_, { target }) => printSkill(target),
})
