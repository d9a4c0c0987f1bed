import { Link } from '@tanstack/react-router'
import { buttonClass } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { changed, Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { type Column, rowLink } from '../../ui/table.tsx'
import { type Agent, type ListedAiProvider, useAgents, useAiProviders } from './records.ts'
import { AgentsNav } from './section.tsx'

export function Agents() {
  const agents = useAgents()
  const providers = useAiProviders()
  return (
    <>
      <PageHead
        title="Agents"
        actions={
          <>
            <Link to="/agents/new-guided" className={buttonClass()}>
              New guided agent
            </Link>
            <Link to="/agents/new" className={buttonClass('main')}>
              <Icon name="plus" />
              New agent
            </Link>
          </>
        }
      >
        Models with instructions and tools. Open one to chat with it.
      </PageHead>
      <AgentsNav />
      <Listing
        query={agents}
        label="Agents"
        empty={<None hasProvider={providers.data?.length !== 0} />}
        columns={columnsFor(providers.data ?? [])}
      />
    </>
  )
}

const None = ({ hasProvider }: { hasProvider: boolean }) =>
  hasProvider ? (
    <Empty
      title="No agents yet"
      action={
        <Link to="/agents/new" className={buttonClass('main')}>
          Create an agent
        </Link>
      }
    >
      Write instructions, choose tools, and try the agent in a chat.
    </Empty>
  ) : (
    <Empty
      title="Add a model first"
      action={
        <Link to="/ai-providers/new" className={buttonClass('main')}>
          Add an AI provider
        </Link>
      }
    >
      Agents use models from OpenAI, Anthropic, Google or any OpenAI-compatible server. To try agents without a model,
      use a replay script.
    </Empty>
  )

const columnsFor = (providers: readonly ListedAiProvider[]): Column<Agent>[] => [
  {
    name: 'Name',
    cell: (agent) => (
      <>
        <Link to="/agents/$agentId" params={{ agentId: agent.id }} className={rowLink}>
          {agent.name}
        </Link>
        <div className="line-clamp-1 max-w-xl text-xs break-words text-soft">
          {agent.instructions ?? 'No instructions'}
        </div>
      </>
    ),
  },
  {
    name: 'Model',
    wideOnly: true,
    cell: ({ model, ai_provider_id }) => {
      const provider = providers.find(({ id }) => id === ai_provider_id)
      return (
        <>
          <code className="font-mono text-xs">{modelOf(model, provider)}</code>
          <div className="text-xs text-soft">{provider?.name ?? ai_provider_id}</div>
        </>
      )
    },
  },
  { name: 'Tools', cell: ({ tool_ids }) => <span className="text-soft tabular-nums">{tool_ids.length}</span> },
  changed,
]

/** The model of the agent, if it is known. */
export const modelOf = (
  model: string | null,
  provider: Pick<ListedAiProvider, 'default_model' | 'type'> | undefined,
): string => model ?? provider?.default_model ?? (provider?.type === 'replay' ? 'replay script' : 'no model')
