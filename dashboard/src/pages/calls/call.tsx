import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { ask, type Call as CallRecord, qm } from '../../api.ts'
import { duration, exactly } from '../../format.ts'
import { useServers } from '../../queries.ts'
import { useToolCall } from '../../tool-call.ts'
import { ApprovalWait } from '../../ui/approval-wait.tsx'
import { Badge, Status } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { OutputView } from '../../ui/output.tsx'
import { Facts, PageHead, Panel } from '../../ui/panel.tsx'
import { JsonView, TextView } from '../../ui/text.tsx'
import { UpstreamError } from '../../ui/upstream-error.tsx'
import { nameOf } from './rows.tsx'

export function Call() {
  const { callId } = useParams({ from: '/calls/$callId' })
  const call = useQuery({
    queryKey: ['call', callId],
    queryFn: () => ask(qm.calls.getCall({ path: { call_id: callId } })),
    // Poll until the call ends.
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? 1000 : false),
  })
  return <Answered query={call}>{(whole) => <Whole call={whole} />}</Answered>
}

/** The approval that a pending call is waiting for, if the user may see it. */
const useApprovalOf = ({ id, tool_id, status }: CallRecord) =>
  useQuery({
    queryKey: ['approval-of', id, status],
    enabled: status === 'pending' && tool_id !== null,
    refetchInterval: 3000,
    queryFn: async () => {
      const query = { status: 'pending' as const, ...(tool_id && { tool_id }), limit: 500 }
      const { data } = await ask(qm.approvals.listApprovals({ query }))
      return data.find(({ call_id }) => call_id === id) ?? null
    },
  })

function ServerLink({ id }: { id: string }) {
  const { data: servers } = useServers()
  return (
    <Link to="/servers/$serverId" params={{ serverId: id }} className="text-accent hover:underline">
      {servers?.find((server) => server.id === id)?.name ?? id}
    </Link>
  )
}

function Whole({ call }: { call: CallRecord }) {
  const { data: approval } = useApprovalOf(call)
  return (
    <>
      <PageHead title={<span className="font-mono text-lg">{nameOf(call)}</span>} actions={<Repeat call={call} />}>
        {approval ? <Badge tone="accent">waiting for approval</Badge> : <Status status={call.status} />}{' '}
        <code className="ml-1 font-mono text-xs">{call.id}</code>
      </PageHead>
      <div className="grid gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(16rem,1fr)]">
        <div className="min-w-0 space-y-4">
          {call.error && (
            <Panel title="Error">
              <p className="text-sm break-words">
                <span className="mr-2 font-mono text-xs font-semibold text-bad">{call.error.code}</span>
                {call.error.message}
              </p>
              <UpstreamError details={call.error.details} />
              {Object.keys(call.error.details).length > 0 && (
                <details className="mt-3">
                  <summary className="mb-2 text-sm text-soft">Error details</summary>
                  <JsonView value={call.error.details} name="error.json" />
                </details>
              )}
            </Panel>
          )}
          <Panel title="Input" aside={call.request_truncated && <Badge tone="warn">truncated in the log</Badge>}>
            {call.request_truncated ? (
              <TextView text={String(call.request)} name="input.txt" />
            ) : (
              <JsonView value={call.request} name="input.json" />
            )}
          </Panel>
          <Panel title="Output" aside={call.response_truncated && <Badge tone="warn">truncated in the log</Badge>}>
            {approval && (
              <p className="text-sm">
                Nothing has been sent yet. The call is waiting for approval.{' '}
                <Link
                  to="/approvals/{-$approvalId}"
                  params={{ approvalId: approval.id }}
                  className="text-accent hover:underline"
                >
                  Open approval
                </Link>
              </p>
            )}
            {!approval && call.response === null && (
              <p className="text-sm text-soft">
                {call.status === 'pending'
                  ? 'No output yet. The call is still running or was interrupted.'
                  : 'The call returned no output.'}
              </p>
            )}
            {call.response !== null && <OutputView value={call.response} />}
          </Panel>
        </div>
        <div className="min-w-0 space-y-4">
          <Panel title="Timing">
            <Facts
              facts={[
                ['Started', exactly(call.created_at)],
                ['Ended', call.completed_at ? exactly(call.completed_at) : 'not yet'],
                ['Duration', duration(call.duration_ms)],
              ]}
            />
          </Panel>
          <Panel title="Request details">
            <Facts
              facts={[
                ['Key', call.principal.name],
                ['Surface', call.surface],
                ...(call.mode ? [['Mode', call.mode] as const] : []),
                ...(call.server_id ? [['Server', <ServerLink key="server" id={call.server_id} />] as const] : []),
                ['Client', [call.client.name, call.client.version].filter(Boolean).join(' ') || 'unknown'],
                [
                  'Tool',
                  call.tool_id && call.tool ? (
                    <Link
                      key="tool"
                      to="/tools/$toolId"
                      params={{ toolId: call.tool_id }}
                      className="text-accent hover:underline"
                    >
                      {call.tool}
                    </Link>
                  ) : (
                    (call.tool ?? call.tool_id ?? 'none')
                  ),
                ],
                ['App', call.app ?? '–'],
                ...(call.parent_call_id
                  ? [
                      [
                        'Parent call',
                        <Link
                          key="parent"
                          to="/calls/$callId"
                          params={{ callId: call.parent_call_id }}
                          className="font-mono text-xs text-accent hover:underline"
                        >
                          {call.parent_call_id}
                        </Link>,
                      ] as const,
                    ]
                  : []),
              ]}
            />
          </Panel>
          <Link
            to="/calls"
            search={call.action ? { action: call.action } : {}}
            className="text-sm text-accent hover:underline"
          >
            All calls of this action
          </Link>
        </div>
      </div>
    </>
  )
}

/** Repeats the call. Not available if the input was truncated in the log. */
function Repeat({ call }: { call: CallRecord }) {
  const again = useToolCall(['calls', 'overview'])
  const cannot = call.tool_id === null || call.request_truncated
  return (
    <div className="flex flex-col items-end gap-2">
      <Button
        busy={again.busy}
        disabled={cannot}
        title={cannot ? 'The logged input is incomplete' : undefined}
        onClick={() =>
          again.run({
            toolId: call.tool_id ?? '',
            body: {
              input: call.request as Record<string, unknown>,
              ...(isOneOfMany(call) && { action: call.action?.slice(call.action.indexOf(':') + 1) }),
            },
          })
        }
      >
        Repeat this call
      </Button>
      <div aria-live="polite" className="max-w-full space-y-2">
        <ErrorNotice error={again.error} />
        {again.waits && !again.busy && <ApprovalWait {...again.waits} />}
        {again.answer && (
          <details open className="text-sm">
            <summary>Output</summary>
            <OutputView value={again.answer.output} />
          </details>
        )}
      </div>
    </div>
  )
}

const isOneOfMany = ({ action }: CallRecord) => action !== null && !action.startsWith('tools:')
