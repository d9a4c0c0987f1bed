import { useNavigate } from '@tanstack/react-router'
import { ask, qm } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { bodyOf, type Draft, emptyDraft } from './draft.ts'
import { ToolForm } from './form.tsx'

export function NewTool() {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  const create = useAction((draft: Draft) => ask(qm.tools.createTool({ body: { ...bodyOf(draft), ...inProject } })), {
    changes: ['tools'],
    onDone: ({ id }) => void navigate({ to: '/tools/$toolId', params: { toolId: id } }),
  })
  return (
    <>
      <PageHead title="New tool" actions={field} />
      <ToolForm start={emptyDraft} isNew busy={create.busy} error={create.error} onSave={create.run} />
    </>
  )
}
