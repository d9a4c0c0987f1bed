import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { ask, qm } from '../../api.ts'
import { plural } from '../../format.ts'
import { Button } from '../../ui/button.tsx'
import { DeletePanel } from '../../ui/delete-panel.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { useAction } from '../../use-action.ts'
import { modelOf } from './agents.tsx'
import { Chat } from './chat/chat.tsx'
import { bodyOf, draftOf } from './draft.ts'
import { AgentForm } from './form.tsx'
import { Manifest } from './manifest/manifest.tsx'
import { type Agent as AgentRecord, useAgent, useAiProvider } from './records.ts'

export function Agent() {
  const { agentId } = useParams({ from: '/agents/$agentId' })
  const agent = useAgent(agentId)
  return <Answered query={agent}>{(record) => <Whole key={record.id} agent={record} />}</Answered>
}

function Whole({ agent }: { agent: AgentRecord }) {
  // A chat is not guided: the policies and routines of an agent apply in sessions.
  const first = agent.has_guide ? 'manifest' : 'chat'
  const { tab = first } = useSearch({ from: '/agents/$agentId' })
  const navigate = useNavigate({ from: '/agents/$agentId' })
  const { data: provider } = useAiProvider(agent.ai_provider_id)
  return (
    <>
      <PageHead title={agent.name} actions={agent.has_guide && <StartSession agentId={agent.id} />}>
        {provider && (
          <>
            {provider.type === 'replay' ? (
              'Replay script of '
            ) : (
              <>
                <code className="font-mono text-xs">{modelOf(agent.model, provider)}</code> from{' '}
              </>
            )}
            <Link to="/ai-providers/$providerId" params={{ providerId: provider.id }} className="text-accent underline">
              {provider.name}
            </Link>
            ,{' '}
          </>
        )}
        {plural(agent.tool_ids.length, 'tool')} ·{' '}
        <Link to="/generations" search={{ agent_id: agent.id }} className="text-accent underline">
          View generations
        </Link>
      </PageHead>
      <Tabs
        label="Agent"
        value={tab}
        onChange={(next) =>
          navigate({ search: (before) => ({ ...before, tab: next === first ? undefined : next }), replace: true })
        }
        tabs={[
          agent.has_guide
            ? { id: 'manifest', label: 'Manifest', content: () => <Manifest agent={agent} /> }
            : { id: 'chat', label: 'Chat', content: () => <Chat agent={agent} /> },
          { id: 'settings', label: 'Settings', content: () => <EditAgent agent={agent} /> },
        ]}
      />
    </>
  )
}

/** To try the agent: its page has a chat, what was decided in each turn, and where its routines are. */
function StartSession({ agentId }: { agentId: string }) {
  const navigate = useNavigate()
  const start = useAction(() => ask(qm.sessions.createSession({ body: { agent_id: agentId } })), {
    changes: ['sessions'],
    onDone: ({ id }) => void navigate({ to: '/sessions/$sessionId', params: { sessionId: id } }),
  })
  return (
    <>
      {start.error && <ErrorNotice error={start.error} />}
      <Button variant="main" busy={start.busy} onClick={() => start.run()}>
        Start a session
      </Button>
    </>
  )
}

function EditAgent({ agent }: { agent: AgentRecord }) {
  const navigate = useNavigate()
  const remove = useAction(() => ask(qm.agents.deleteAgent({ path: { agent_id: agent.id } })), {
    changes: ['agents'],
    onDone: () => void navigate({ to: '/agents' }),
  })
  return (
    <div className="space-y-6">
      <AgentForm
        isNew={false}
        projectId={agent.project_id}
        start={draftOf(agent)}
        version={agent.updated_at}
        save={(draft) => ask(qm.agents.updateAgent({ path: { agent_id: agent.id }, body: bodyOf(draft) }))}
        changes={['agent', 'agents']}
      />
      <DeletePanel what="agent" name={agent.name} onDelete={() => remove.runAsync()}>
        The agent can no longer be run. Its past generations are kept.
      </DeletePanel>
    </div>
  )
}
