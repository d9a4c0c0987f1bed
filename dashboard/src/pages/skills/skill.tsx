import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useDeferredValue } from 'react'
import { ask, qm, type Skill as SkillRecord } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { Switch, TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { Answered } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'

export function Skill() {
  const { skillId } = useParams({ from: '/skills/$skillId' })
  const isNew = skillId === 'new'
  const skill = useQuery({
    queryKey: ['skill', skillId],
    queryFn: () => ask(qm.skills.getSkill({ path: { skill_id: skillId } })),
    enabled: !isNew,
  })
  if (isNew) return <Editor skill={undefined} />
  return <Answered query={skill}>{(record) => <Editor key={record.id} skill={record} />}</Answered>
}

const start = '# When to use this\n\n\n# Steps\n\n1. '

function Editor({ skill }: { skill: SkillRecord | undefined }) {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  const form = useForm({
    start: {
      name: skill?.name ?? '',
      summary: skill?.summary ?? '',
      category: skill?.category ?? '',
      apps: skill?.apps.join(', ') ?? '',
      content: skill?.content ?? start,
      enabled: skill?.enabled ?? true,
    },
    version: skill?.updated_at,
    save({ name, content, category, apps, enabled, summary }) {
      const body = {
        name: name.trim(),
        content,
        category: category.trim() || null,
        apps: apps.split(/[\s,]+/).filter(Boolean),
        enabled,
        ...(summary.trim() && { summary: summary.trim() }),
      }
      return ask(
        skill
          ? qm.skills.updateSkill({ path: { skill_id: skill.id }, body })
          : qm.skills.createSkill({ body: { ...body, ...inProject } }),
      )
    },
    changes: ['skills', 'skill'],
    onDone: ({ id }) => void navigate({ to: '/skills/$skillId', params: { skillId: id } }),
  })
  const { draft, set, text } = form
  // The preview of a long text may lag behind typing.
  const shown = useDeferredValue(draft.content)
  const remove = useAction(async () => skill && ask(qm.skills.deleteSkill({ path: { skill_id: skill.id } })), {
    changes: ['skills'],
    onDone: () => void navigate({ to: '/skills' }),
  })
  return (
    <>
      <PageHead
        title={skill?.name ?? 'New skill'}
        actions={
          skill && (
            <ConfirmButton
              label="Delete"
              title={`Delete ${skill.name}?`}
              confirm="Delete skill"
              onConfirm={() => remove.runAsync()}
            >
              Agents can no longer load it. This cannot be undone.
            </ConfirmButton>
          )
        }
      />
      <Form form={form} label={skill ? 'Save' : 'Create skill'}>
        <Panel>
          <div className="grid gap-4 md:grid-cols-2">
            <TextField label="Name" required {...text('name')} />
            <TextField label="Apps" mono {...text('apps')} hint="App slugs, separated by commas" />
            <div className="md:col-span-2">
              <TextField
                label="Summary"
                {...text('summary')}
                hint="One or two sentences that tell an agent when to load the skill"
              />
            </div>
            {!skill && field}
            <TextField label="Category" {...text('category')} />
            <div className="md:pt-6">
              <Switch
                label="Enabled"
                hint="Agents cannot find a disabled skill"
                checked={draft.enabled}
                onChange={(enabled) => set({ enabled })}
              />
            </div>
          </div>
        </Panel>
        <div className="grid gap-4 lg:grid-cols-2">
          <TextArea label="Content (Markdown)" mono required rows={22} {...text('content')} />
          <div className="flex min-w-0 flex-col">
            <h2 className="mb-1 text-sm font-medium">Preview</h2>
            <div className="flex-1 rounded-md border border-line bg-panel p-4 text-base break-words">
              <Markdown text={shown} />
            </div>
          </div>
        </div>
      </Form>
    </>
  )
}
