import { Link } from '@tanstack/react-router'
import { ago, when } from '../../format.ts'
import { buttonLook } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Answered, Empty } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { rowLink, Table } from '../../ui/table.tsx'
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
          <Link to="/agents/new" className={buttonLook('main')}>
            <Icon name="plus" />
            New agent
          </Link>
        }
      >
        Models with instructions and tools. Open one to talk to it.
      </PageHead>
      <AgentsNav />
      <Answered query={agents}>
        {(all) =>
          all.length > 0 ? (
            <Found agents={all} providers={providers.data ?? []} />
          ) : providers.data?.length === 0 ? (
            <Empty
              title="First, a model"
              action={
                <Link to="/ai-providers/new" className={buttonLook('main')}>
                  Add an AI provider
                </Link>
              }
            >
              An agent asks a model of OpenAI, Anthropic, Google, or of any server that speaks OpenAI’s protocol. To try
              it without one, a script can stand in.
            </Empty>
          ) : (
            <Empty
              title="No agents yet"
              action={
                <Link to="/agents/new" className={buttonLook('main')}>
                  Create an agent
                </Link>
              }
            >
              Say what it is for, choose the tools that it may call, and try it in the same place.
            </Empty>
          )
        }
      </Answered>
    </>
  )
}

const Found = ({ agents, providers }: { agents: readonly Agent[]; providers: readonly ListedAiProvider[] }) => (
  <Panel flush>
    <Table
      label="Agents"
      items={agents}
      columns={[
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
        {
          name: 'Changed',
          wideOnly: true,
          end: true,
          cell: ({ updated_at }) => (
            <time dateTime={updated_at} title={when(updated_at)} className="text-soft">
              {ago(updated_at)}
            </time>
          ),
        },
      ]}
    />
  </Panel>
)

/** The model that is asked, where that can be known. */
export const modelOf = (
  model: string | null,
  provider: Pick<ListedAiProvider, 'default_model' | 'type'> | undefined,
): string => model ?? provider?.default_model ?? (provider?.type === 'replay' ? 'a script' : 'no model')
