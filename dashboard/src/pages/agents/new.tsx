import { useNavigate } from '@tanstack/react-router'
import { ask, qm } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { bodyOf, emptyDraft } from './draft.ts'
import { AgentForm } from './form.tsx'

export function NewAgent() {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  return (
    <>
      <PageHead title="New agent" actions={field} />
      <AgentForm
        isNew
        projectId={inProject.project_id}
        start={emptyDraft}
        save={(draft) => ask(qm.agents.createAgent({ body: { ...bodyOf(draft), ...inProject } }))}
        changes={['agents']}
        onDone={({ id }) => void navigate({ to: '/agents/$agentId', params: { agentId: id } })}
      />
    </>
  )
}
