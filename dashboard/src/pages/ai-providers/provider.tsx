import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { ask, qm } from '../../api.ts'
import { Badge } from '../../ui/badge.tsx'
import { DeletePanel } from '../../ui/delete-panel.tsx'
import { Answered } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { useAction } from '../../use-action.ts'
import { modelOf } from '../agents/agents.tsx'
import { type AiProvider as ProviderRecord, useAiProvider } from '../agents/records.ts'
import { bodyOf, draftOf } from './draft.ts'
import { ProviderForm, typeName } from './form.tsx'
import { Recording } from './recording.tsx'
import { TestPanel } from './test-panel.tsx'

export function AiProvider() {
  const { providerId } = useParams({ from: '/ai-providers/$providerId' })
  const provider = useAiProvider(providerId)
  return <Answered query={provider}>{(record) => <Whole key={record.id} provider={record} />}</Answered>
}

function Whole({ provider }: { provider: ProviderRecord }) {
  const { tab = 'settings' } = useSearch({ from: '/ai-providers/$providerId' })
  const navigate = useNavigate({ from: '/ai-providers/$providerId' })
  return (
    <>
      <PageHead title={provider.name}>
        <span className="mr-2 inline-flex gap-1.5 align-middle">
          <Badge>{typeName(provider.type)}</Badge>
          {provider.record && <Badge tone="accent">recording</Badge>}
        </span>
        <code className="font-mono text-xs break-all">{provider.base_url ?? modelOf(null, provider)}</code>
      </PageHead>
      <Tabs
        label="AI provider"
        value={tab}
        onChange={(next) => navigate({ search: { tab: next === 'settings' ? undefined : next }, replace: true })}
        tabs={[
          { id: 'settings', label: 'Settings', content: () => <Edit provider={provider} /> },
          { id: 'recording', label: 'Recording', content: () => <Recording provider={provider} /> },
        ]}
      />
    </>
  )
}

function Edit({ provider }: { provider: ProviderRecord }) {
  const navigate = useNavigate()
  const path = { ai_provider_id: provider.id }
  const remove = useAction(() => ask(qm.aiProviders.deleteAiProvider({ path })), {
    changes: ['ai-providers'],
    onDone: () => void navigate({ to: '/ai-providers' }),
  })
  return (
    <div className="space-y-4">
      <TestPanel provider={provider} />
      <ProviderForm
        provider={provider}
        start={draftOf(provider)}
        version={provider.updated_at}
        save={(draft) => {
          const { type: _, ...body } = bodyOf(draft)
          return ask(qm.aiProviders.updateAiProvider({ path, body }))
        }}
        changes={['ai-provider', 'ai-providers']}
      />
      <DeletePanel what="AI provider" name={provider.name} onDelete={() => remove.runAsync()}>
        You can delete an AI provider only if no agent uses it. Its key is also deleted.
      </DeletePanel>
    </div>
  )
}
