import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { type Approval, ask, qm } from '../../api.ts'
import { useNow } from '../../clock.ts'
import { ago, when } from '../../format.ts'
import { useServers, useSession } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Answered } from '../../ui/notice.tsx'
import { Facts, Panel } from '../../ui/panel.tsx'
import { changesBetween } from './changes.ts'
import { Countdown } from './countdown.tsx'
import { Decide } from './decide.tsx'
import { Diff } from './diff.tsx'
import { approvedBy, clientOf, gateInWords, statusTone, statusWord, surfaceWord, throughWhat } from './labels.ts'
import { SensitiveNotes } from './sensitive.tsx'
import { Values } from './values.tsx'

interface Props {
  readonly hasKeys: boolean
  onDecided(approval: Approval, words: string): void
}

/** One approval: the call, who requested it, why it needs approval, and the decision. */
export function Detail({ id, ...rest }: Props & { id: string }) {
  const approval = useQuery({
    queryKey: ['approval', id],
    queryFn: () => ask(qm.approvals.getApproval({ path: { approval_id: id } })),
    // The stream does not report that an approved call was executed.
    refetchInterval: ({ state }) => (state.data?.status === 'approved' ? 2000 : false),
  })
  return <Answered query={approval}>{(whole) => <Whole approval={whole} {...rest} />}</Answered>
}

function Whole({ approval, hasKeys, onDecided }: Props & { approval: Approval }) {
  const now = useNow()
  // The approval as first shown. If it changes, the user must acknowledge the change before deciding.
  const [seen, setSeen] = useState(approval)
  const [late, setLate] = useState('')
  const { data: session } = useSession()
  const editor = approval.decisions.findLast(({ args_hash }) => args_hash === approval.args_hash)?.by
  const isChanged = seen.args_hash !== approval.args_hash && editor?.id !== session?.principal.id
  const runs = approval.edited_input ?? approval.input
  const isOpen = approval.status === 'pending' && Date.parse(approval.expires_at) > now

  const args = (
    <Panel
      title={approval.edited_input ? 'Arguments (edited)' : 'Arguments'}
      aside={
        approval.preset_keys.length > 0 && (
          <span className="text-xs text-soft">
            Preset on the tool, not shown: <code className="font-mono">{approval.preset_keys.join(', ')}</code>
          </span>
        )
      }
    >
      <SensitiveNotes sensitive={approval.sensitive} />
      <Values key={approval.args_hash} value={runs} />
      {approval.edited_input && (
        <div className="mt-3 border-t border-line pt-3">
          <h3 className="mb-2">Changes to the original request</h3>
          <Diff
            label="Changes to the original request"
            changes={changesBetween(approval.input, approval.edited_input)}
          />
        </div>
      )}
    </Panel>
  )
  const details = (
    <Panel title="Request details">
      <Facts facts={useFacts(approval)} />
    </Panel>
  )

  return (
    <article aria-label={approval.action} className="space-y-4">
      <header className="mb-1 flex flex-wrap items-center gap-x-3 gap-y-1">
        <h2 className="min-w-0 font-mono text-lg break-words">{approval.action}</h2>
        <Badge tone={statusTone(approval.status)}>
          {approval.status === 'pending' && !isOpen ? 'expired' : statusWord(approval.status)}
        </Badge>
        {isOpen && <Countdown until={approval.expires_at} long />}
      </header>
      <p className="text-sm text-soft">
        Requested by <span className="font-medium text-ink">{approval.principal.name}</span> via {throughWhat(approval)}{' '}
        {ago(approval.created_at, now)}.
      </p>
      {late !== '' && (
        <div role="alert" className="rounded-md border border-warn/40 bg-warn-wash px-3 py-2 text-sm">
          {late}
        </div>
      )}
      {!isOpen && <Outcome approval={approval} />}
      {isChanged && isOpen && (
        <div role="alert" className="space-y-2 rounded-md border border-warn/40 bg-warn-wash px-3 py-2 text-sm">
          <p>{editor?.name ?? 'Someone'} changed the arguments while you were reviewing them.</p>
          <Diff
            label="Changed while you reviewed"
            changes={changesBetween(seen.edited_input ?? seen.input, approval.edited_input ?? approval.input)}
          />
          <Button onClick={() => setSeen(approval)}>Continue with these arguments</Button>
        </div>
      )}
      <Panel title="Reason for approval">
        <ul className="list-disc space-y-1 pl-5 text-sm">
          {approval.why.map((gate) => (
            <li key={`${gate.gate} ${gate.id}`} className="break-words">
              {gateInWords(gate)}{' '}
              {gate.gate === 'rule' && gate.id && (
                <Link to="/approvals/rules/$ruleId" params={{ ruleId: gate.id }} className="text-accent underline">
                  View rule
                </Link>
              )}
            </li>
          ))}
        </ul>
        <People approval={approval} />
      </Panel>
      {isOpen ? (
        <Decide
          key={approval.args_hash}
          args={args}
          approval={approval}
          isHeld={isChanged}
          hasKeys={hasKeys}
          onDecided={onDecided}
          onLate={setLate}
        >
          {details}
        </Decide>
      ) : (
        <>
          {args}
          {details}
        </>
      )}
    </article>
  )
}

/** If two people must approve, shows who has approved the current arguments. */
function People({ approval }: { approval: Approval }) {
  const { approvals_needed: needed, decisions, args_hash } = approval
  if (needed < 2) return null
  const approved = approvedBy(approval)
  return (
    <div className="mt-3 border-t border-line pt-3 text-sm">
      <p>
        <strong className="font-semibold">
          {approved.length} of {needed} people
        </strong>{' '}
        approved this call.
      </p>
      <ul className="mt-1 space-y-0.5 text-soft">
        {decisions.map((one) => (
          <li key={one.at}>
            {one.by.name} {one.decision === 'approve' ? 'approved' : 'rejected'} {ago(one.at)}
            {one.reason && `: ${one.reason}`}
            {one.decision === 'approve' && one.args_hash !== args_hash && ' (different arguments, not counted)'}
          </li>
        ))}
      </ul>
    </div>
  )
}

function Outcome({ approval }: { approval: Approval }) {
  const { status, decided_by, decided_at, reason, used_at } = approval
  const words =
    status === 'approved' || status === 'used'
      ? `${decided_by?.name} approved the call${used_at ? ', and it ran' : ''}.`
      : status === 'rejected'
        ? `${decided_by?.name} rejected the call. Nothing was sent.`
        : status === 'cancelled'
          ? 'The request was withdrawn, or its tool was changed. Nothing was sent.'
          : decided_by
            ? `${decided_by.name} approved the call, but it was not repeated in time. Nothing was sent.`
            : 'Nobody decided in time, so the call counts as rejected. Nothing was sent.'
  return (
    <div className="rounded-md border border-line bg-sunken px-3 py-2 text-sm">
      <p>
        {words} {decided_at && <span className="text-soft">{when(decided_at)}</span>}
      </p>
      {reason && <p className="mt-1 break-words">“{reason}”</p>}
    </div>
  )
}

function useFacts(approval: Approval): (readonly [string, ReactNode])[] {
  const { data: servers = [] } = useServers()
  const { data: agent } = useQuery({
    queryKey: ['agent-of-approval', approval.agent_id],
    enabled: approval.agent_id !== null,
    queryFn: () => ask(qm.agents.getAgent({ path: { agent_id: approval.agent_id ?? '' } })),
  })
  const server = servers.find(({ id }) => id === approval.server_id)
  return [
    ['Requested by', approval.principal.name],
    ['Surface', surfaceWord(approval.surface)],
    ...(clientOf(approval) ? [['Client', clientOf(approval)] as const] : []),
    ...(approval.agent_id ? [['Agent', agent?.name ?? approval.agent_id] as const] : []),
    ...(approval.server_id ? [['Server', server?.name ?? approval.server_id] as const] : []),
    [
      'Tool',
      <Link
        key="tool"
        to="/tools/$toolId"
        params={{ toolId: approval.tool_id }}
        className="text-accent hover:underline"
      >
        {approval.tool}
      </Link>,
    ],
    ['Requested', `${when(approval.created_at)}, ${ago(approval.created_at)}`],
    [
      'Call',
      <Link
        key="call"
        to="/calls/$callId"
        params={{ callId: approval.call_id }}
        className="font-mono text-xs text-accent hover:underline"
      >
        {approval.call_id}
      </Link>,
    ],
  ]
}
