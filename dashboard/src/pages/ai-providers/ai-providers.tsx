import { Link } from '@tanstack/react-router'
import { Badge } from '../../ui/badge.tsx'
import { buttonClass } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { changed, Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { rowLink } from '../../ui/table.tsx'
import { modelOf } from '../agents/agents.tsx'
import { useAiProviders } from '../agents/records.ts'
import { AgentsNav } from '../agents/section.tsx'
import { typeName } from './form.tsx'

const New = ({ label }: { label: string }) => (
  <Link to="/ai-providers/new" className={buttonClass('main')}>
    <Icon name="plus" />
    {label}
  </Link>
)

export function AiProviders() {
  const providers = useAiProviders()
  return (
    <>
      <PageHead title="AI providers" actions={<New label="New AI provider" />}>
        Connections to language model APIs. Keys are encrypted and never shown again.
      </PageHead>
      <AgentsNav />
      <Listing
        query={providers}
        label="AI providers"
        empty={
          <Empty title="No AI providers yet" action={<New label="Add an AI provider" />}>
            Use an API key from OpenAI, Anthropic or Google, your own model server, or a replay script.
          </Empty>
        }
        columns={[
          {
            name: 'Name',
            cell: (provider) => (
              <>
                <Link to="/ai-providers/$providerId" params={{ providerId: provider.id }} className={rowLink}>
                  {provider.name}
                </Link>
                <div className="line-clamp-1 max-w-xl text-xs break-all text-soft">
                  {provider.base_url ?? (provider.type === 'replay' ? 'Replay script' : 'Default base URL')}
                </div>
              </>
            ),
          },
          { name: 'Type', cell: ({ type }) => <Badge>{typeName(type)}</Badge> },
          {
            name: 'Default model',
            wideOnly: true,
            cell: (provider) => <code className="font-mono text-xs text-soft">{modelOf(null, provider)}</code>,
          },
          {
            name: 'Key',
            wideOnly: true,
            cell: ({ has_api_key, api_key_hint }) =>
              has_api_key ? (
                <code className="font-mono text-xs text-soft">…{api_key_hint}</code>
              ) : (
                <span className="text-soft">none</span>
              ),
          },
          changed,
        ]}
      />
    </>
  )
}
