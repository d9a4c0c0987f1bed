import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ask, qm } from '../../api.ts'
import { duration, exactly, plural } from '../../format.ts'
import { buttonClass } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { Answered } from '../../ui/notice.tsx'
import { Facts, PageHead, Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { Said } from '../agents/model-text.tsx'
import { type TraceNode, useAgents } from '../agents/records.ts'
import { money, sum, tokens } from '../agents/usage.ts'
import { nameOf } from './generations.tsx'
import { GenerationStatus, isUnderWay } from './status.tsx'
import { Timeline } from './timeline.tsx'

export function Generation() {
  const { generationId } = useParams({ from: '/generations/$generationId' })
  const trace = useQuery({
    queryKey: ['generation', generationId],
    queryFn: () => ask(qm.agents.getGenerationTrace({ path: { generation_id: generationId } })),
    // Poll while the run is in progress.
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data.status) ? 1000 : false),
  })
  return <Answered query={trace}>{(node) => <Whole trace={node} />}</Answered>
}

function Whole({ trace }: { trace: TraceNode }) {
  const { data: agents = [] } = useAgents()
  const all = everyRun(trace)
  const usage = sum(all.map((node) => node.usage))
  const steps = all.flatMap(({ step_list }) => step_list)
  const calls = steps.flatMap((step) => step.calls)
  const cancel = useAction(() => ask(qm.agents.cancelGeneration({ path: { generation_id: trace.id } })), {
    changes: ['generation', 'generations'],
  })
  const hasAgent = agents.some(({ id }) => id === trace.agent_id)
  return (
    <>
      <PageHead
        title={nameOf(trace.agent_id, agents)}
        actions={
          <>
            {isUnderWay(trace.status) && (
              <ConfirmButton label="Stop" title="Stop this run?" confirm="Stop run" onConfirm={() => cancel.runAsync()}>
                This run and all runs it started are stopped. Completed tool calls are not undone.
              </ConfirmButton>
            )}
            {hasAgent && trace.initiator_generation_id === null && (
              <Link
                to="/agents/$agentId"
                params={{ agentId: trace.agent_id }}
                search={{ run: trace.id }}
                className={buttonClass('plain')}
              >
                Continue in chat
              </Link>
            )}
          </>
        }
      >
        <GenerationStatus status={trace.status} /> <code className="ml-1 font-mono text-xs break-all">{trace.id}</code>
      </PageHead>
      <div className="space-y-4">
        {trace.error && (
          <div role="alert" className="rounded-md border border-bad/40 bg-bad-wash px-3 py-2 text-sm">
            <p className="break-words">
              <span className="mr-2 font-mono text-xs font-semibold text-bad">{trace.error.code}</span>
              {trace.error.message}
            </p>
          </div>
        )}
        {trace.required_action && (
          <div role="status" className="rounded-md border border-warn/50 bg-warn-wash px-3 py-2 text-sm">
            {trace.required_action.type === 'submit_tool_outputs'
              ? 'Waiting for the output of client tools. You can enter it in the chat.'
              : trace.required_action.type === 'connect_accounts'
                ? 'Waiting for an account to be connected.'
                : 'Waiting for approval.'}{' '}
            {(trace.required_action.approvals ?? []).map(({ approval_id, tool_name }) => (
              <a key={approval_id} href={`/approvals/${approval_id}`} className="mr-2 text-accent underline">
                Open approval for {tool_name}
              </a>
            ))}
            {(trace.required_action.connections ?? []).map(({ tool_call_id, app, connect_url }) =>
              connect_url === null ? null : (
                <a key={tool_call_id} href={connect_url} className="mr-2 text-accent underline">
                  Connect {app}
                </a>
              ),
            )}
          </div>
        )}
        <div className="grid grid-cols-2 gap-3 md:grid-cols-4">
          <Figure name="Duration">
            {trace.completed_at
              ? duration(Date.parse(trace.completed_at) - Date.parse(trace.started_at))
              : 'in progress'}
          </Figure>
          <Figure name="Work">
            {plural(steps.length, 'step')}, {plural(calls.length, 'call')}
          </Figure>
          <Figure name="Tokens">{tokens(usage)}</Figure>
          <Figure name="Cost">{money(usage.cost) ?? 'unknown'}</Figure>
        </div>
        <Panel title="Timeline" flush aside={<Legend />}>
          <Timeline trace={trace} agents={agents} />
        </Panel>
        {trace.output && (
          <Panel title="Output">
            <Said text={trace.output.content} />
          </Panel>
        )}
        <Panel title="Details">
          <Facts
            facts={[
              ['Started', exactly(trace.started_at)],
              ['Started by', trace.started_by.name],
              ['Model', trace.model ?? '–'],
              ['Stop reason', ends[trace.stop_reason ?? ''] ?? trace.stop_reason ?? 'not yet'],
              ...(trace.initiator_generation_id
                ? [
                    [
                      'Parent run',
                      <Link
                        key="above"
                        to="/generations/$generationId"
                        params={{ generationId: trace.initiator_generation_id }}
                        className="font-mono text-xs break-all text-accent hover:underline"
                      >
                        {trace.initiator_generation_id}
                      </Link>,
                    ] as const,
                  ]
                : []),
            ]}
          />
        </Panel>
      </div>
    </>
  )
}

const ends: Record<string, string> = {
  end_turn: 'end of turn',
  max_steps: 'step limit reached',
  stop_condition: 'stop condition',
  depth_limit: 'depth limit reached',
  cancelled: 'cancelled',
  error: 'error',
}

const everyRun = (node: TraceNode): TraceNode[] => [node, ...node.children.flatMap(everyRun)]

const Figure = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="min-w-0 rounded-lg border border-line bg-panel px-4 py-2.5">
    <div className="text-xs text-soft">{name}</div>
    <div className="font-medium break-words tabular-nums">{children}</div>
  </div>
)

const kinds = [
  ['bg-accent', 'model'],
  ['bg-ink/70', 'call'],
  ['bg-warn', 'waiting'],
  ['bg-bad', 'failed'],
] as const

const Legend = () => (
  <span className="flex flex-wrap gap-3 text-xs text-soft">
    {kinds.map(([colour, name]) => (
      <span key={name} className="inline-flex items-center gap-1.5">
        <span className={`size-2.5 rounded-sm ${colour}`} />
        {name}
      </span>
    ))}
  </span>
)
