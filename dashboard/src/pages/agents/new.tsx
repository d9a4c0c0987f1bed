import { useNavigate } from '@tanstack/react-router'
import { ask, qm } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { bodyOf, type Draft, emptyDraft } from './draft.ts'
import { AgentForm } from './form.tsx'

export function NewAgent() {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  const create = useAction((draft: Draft) => ask(qm.agents.createAgent({ body: { ...bodyOf(draft), ...inProject } })), {
    changes: ['agents'],
    onDone: ({ id }) => void navigate({ to: '/agents/$agentId', params: { agentId: id } }),
  })
  return (
    <>
      <PageHead title="New agent" actions={field} />
      <AgentForm
        start={emptyDraft}
        isNew
        projectId={inProject.project_id}
        busy={create.busy}
        error={create.error}
        onSave={create.run}
      />
    </>
  )
}
