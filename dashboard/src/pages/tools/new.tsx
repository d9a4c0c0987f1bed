import { useNavigate } from '@tanstack/react-router'
import { ask, qm } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { bodyOf, emptyDraft } from './draft.ts'
import { ToolForm } from './form.tsx'

export function NewTool() {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  return (
    <>
      <PageHead title="New tool" actions={field} />
      <ToolForm
        isNew
        start={emptyDraft}
        save={(draft) => ask(qm.tools.createTool({ body: { ...bodyOf(draft), ...inProject } }))}
        changes={['tools']}
        onDone={({ id }) => void navigate({ to: '/tools/$toolId', params: { toolId: id } })}
      />
    </>
  )
}
