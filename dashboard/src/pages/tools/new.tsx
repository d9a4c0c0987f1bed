import { useNavigate } from '@tanstack/react-router'
import { ask, qm } from '../../api.ts'
import { useProjectId } from '../../project.ts'
import { PageHead } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { bodyOf, type Draft, emptyDraft } from './draft.ts'
import { ToolForm } from './form.tsx'

export function NewTool() {
  const navigate = useNavigate()
  const projectId = useProjectId()
  const create = useAction(
    (draft: Draft) =>
      ask(qm.tools.createTool({ body: { ...bodyOf(draft), ...(projectId && { project_id: projectId }) } })),
    {
      changes: ['tools'],
      onDone: ({ id }) => void navigate({ to: '/tools/$toolId', params: { toolId: id } }),
    },
  )
  return (
    <>
      <PageHead title="New tool" />
      <ToolForm start={emptyDraft} isNew busy={create.busy} error={create.error} onSave={create.run} />
    </>
  )
}
