import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { ask, Failure, qm, type Skill as SkillRecord } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Button } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { Switch, TextArea, TextField } from '../../ui/field.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { SavedMark } from '../../ui/saved.tsx'
import { useAction } from '../../use-action.ts'

export function Skill() {
  const { skillId } = useParams({ from: '/skills/$skillId' })
  const isNew = skillId === 'new'
  const skill = useQuery({
    queryKey: ['skill', skillId],
    queryFn: () => ask(qm.skills.getSkill({ path: { skill_id: skillId } })),
    enabled: !isNew,
  })
  if (isNew) return <Editor skill={undefined} />
  return (
    <Answered query={skill}>
      {(record) => (
        <>
          <Editor key={record.updated_at} skill={record} />
          <div className="mt-3">
            <SavedMark at={record.updated_at} />
          </div>
        </>
      )}
    </Answered>
  )
}

const start = '# When to use this\n\n\n# Steps\n\n1. '

function Editor({ skill }: { skill: SkillRecord | undefined }) {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  const [draft, setDraft] = useState({
    name: skill?.name ?? '',
    summary: skill?.summary ?? '',
    category: skill?.category ?? '',
    apps: skill?.apps.join(', ') ?? '',
    content: skill?.content ?? start,
    enabled: skill?.enabled ?? true,
  })
  const set = (change: Partial<typeof draft>) => setDraft((now) => ({ ...now, ...change }))
  // The preview of a long text may come a moment after the letters.
  const shown = useDeferredValue(draft.content)
  const save = useAction(
    () => {
      const body = {
        name: draft.name.trim(),
        content: draft.content,
        category: draft.category.trim() || null,
        apps: draft.apps
          .split(/[\s,]+/)
          .map((app) => app.trim())
          .filter(Boolean),
        enabled: draft.enabled,
        ...(draft.summary.trim() && { summary: draft.summary.trim() }),
      }
      return ask(
        skill
          ? qm.skills.updateSkill({ path: { skill_id: skill.id }, body })
          : qm.skills.createSkill({ body: { ...body, ...inProject } }),
      )
    },
    {
      changes: ['skills', 'skill'],
      onDone: ({ id }) => void navigate({ to: '/skills/$skillId', params: { skillId: id } }),
    },
  )
  const remove = useAction(async () => skill && ask(qm.skills.deleteSkill({ path: { skill_id: skill.id } })), {
    changes: ['skills'],
    onDone: () => void navigate({ to: '/skills' }),
  })
  const faultOf = (path: string) =>
    save.error instanceof Failure
      ? save.error.faults.find((fault) => fault.path === path || fault.path.startsWith(`${path}[`))?.message
      : undefined

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save.run()
      }}
    >
      <PageHead
        title={skill?.name ?? 'New skill'}
        actions={
          <>
            {skill && (
              <ConfirmButton
                label="Delete"
                title={`Delete ${skill.name}?`}
                confirm="Delete the skill"
                onConfirm={() => remove.runAsync()}
              >
                Agents no longer find it. This cannot be undone.
              </ConfirmButton>
            )}
            <Button look="main" type="submit" busy={save.busy}>
              {skill ? 'Save' : 'Create the skill'}
            </Button>
          </>
        }
      ></PageHead>
      <div className="space-y-4">
        <ErrorNotice error={save.error} />
        <Panel>
          <div className="grid gap-4 md:grid-cols-2">
            <TextField
              label="Name"
              required
              value={draft.name}
              onChange={(event) => set({ name: event.target.value })}
              error={faultOf('name')}
            />
            <TextField
              label="Apps"
              mono
              value={draft.apps}
              onChange={(event) => set({ apps: event.target.value })}
              hint="Slugs of the apps that it is about, with commas between"
              error={faultOf('apps')}
            />
            <div className="md:col-span-2">
              <TextField
                label="Summary"
                value={draft.summary}
                onChange={(event) => set({ summary: event.target.value })}
                hint="One or two sentences by which an agent decides whether to load it"
                error={faultOf('summary')}
              />
            </div>
            {!skill && field}
            <TextField
              label="Category"
              value={draft.category}
              onChange={(event) => set({ category: event.target.value })}
            />
            <Switch
              label="On"
              hint="Off: agents do not find it"
              checked={draft.enabled}
              onChange={(enabled) => set({ enabled })}
            />
          </div>
        </Panel>
        <div className="grid gap-4 lg:grid-cols-2">
          <TextArea
            label="The procedure, in Markdown"
            mono
            required
            rows={22}
            value={draft.content}
            onChange={(event) => set({ content: event.target.value })}
            error={faultOf('content')}
          />
          <div className="min-w-0">
            <h2 className="mb-1 text-sm font-medium">Preview</h2>
            <div className="rounded-md border border-line bg-panel p-4 text-base break-words">
              <Markdown text={shown} />
            </div>
          </div>
        </div>
      </div>
    </form>
  )
}
