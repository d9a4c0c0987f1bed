import { z } from 'zod'
import { Id, Paging, pageOf } from '../model/page.ts'
import { Skill, SkillFields } from '../model/skill.ts'
import { acts, creates, lists, type RecordKind } from './operation.ts'

export const skill: RecordKind<Skill> = {
  name: 'skill',
  find: (id, store) => store.skills.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'skill', id }),
}

const { name, content, summary, category, apps, enabled } = SkillFields

export const createSkill = creates({
  name: 'create-skill',
  permission: 'skills:CreateSkill',
  route: 'POST /skills',
  summary: 'Create a skill',
  example: { name: 'refunds', summary: 'How to refund an order', content: 'Look up the order first.' },
  kind: 'skill',
  input: z.strictObject({
    project_id: Id.optional(),
    name,
    content,
    summary: summary.default(''),
    category: category.default(null),
    apps: apps.default([]),
    enabled: enabled.default(true),
  }),
  output: Skill,
  run: ({ project_id: _, ...draft }, { store, projectId }) => store.skills.create(projectId, draft),
})

export const listSkills = lists({
  name: 'list-skills',
  permission: 'skills:ListSkills',
  route: 'GET /skills',
  summary: 'List skills',
  of: skill,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(Skill),
  run: (input, { store, visible }) => store.skills.list(input, visible),
})

export const getSkill = acts({
  name: 'get-skill',
  permission: 'skills:GetSkill',
  route: 'GET /skills/{skill_id}',
  summary: 'Get a skill',
  on: skill,
  input: z.strictObject({ id: Id }),
  output: Skill,
  run: async (_, { target }) => target,
})

export const updateSkill = acts({
  name: 'update-skill',
  permission: 'skills:UpdateSkill',
  route: 'PATCH /skills/{skill_id}',
  summary: 'Change a skill',
  example: { summary: 'How to refund an order in full' },
  on: skill,
  input: z.strictObject({ id: Id, ...z.object(SkillFields).partial().shape }),
  output: Skill,
  async run({ id, ...change }, { store, target }) {
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
    return (await store.skills.update(id, { ...target, ...given })) ?? target
  },
})

export const deleteSkill = acts({
  name: 'delete-skill',
  permission: 'skills:DeleteSkill',
  route: 'DELETE /skills/{skill_id}',
  summary: 'Delete a skill',
  status: 204,
  on: skill,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    await store.skills.remove(id)
    return null
  },
})
