import { useNavigate } from '@tanstack/react-router'
import { ask, qm } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { bodyOf, emptyDraft } from './draft.ts'
import { ProviderForm } from './form.tsx'

export function NewAiProvider() {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  return (
    <>
      <PageHead title="New AI provider" actions={field}>
        A connection to a language model API.
      </PageHead>
      <ProviderForm
        provider={undefined}
        start={emptyDraft}
        save={(draft) => ask(qm.aiProviders.createAiProvider({ body: { ...bodyOf(draft), ...inProject } }))}
        changes={['ai-providers']}
        onDone={({ id }) => void navigate({ to: '/ai-providers/$providerId', params: { providerId: id } })}
      />
    </>
  )
}
