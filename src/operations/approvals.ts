import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { descends, isOnePerson, type KeyLine, lineOf } from '../access/key-line.ts'
import { checkEdited } from '../approvals/edit.ts'
import { shown } from '../dispatch/redact.ts'
import { canonical, hashOf } from '../lib/canonical.ts'
import type { JsonObject } from '../lib/json.ts'
import { Approval, ApprovalStatus, ApprovalSummary, type Decision, grantMs } from '../model/approval.ts'
import { PlatformError } from '../model/errors.ts'
import { Id, iso, Paging, pageOf, Text } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import { jsonObject } from '../model/tool.ts'
import type { ApprovalFilter, DecisionResult } from '../store/approvals.ts'
import { acts, type Context, type EventStream, lists, operation, type RecordKind, requireAllowed } from './operation.ts'

const approval: RecordKind<Approval> = {
  name: 'approval',
  find: (id, store) => store.approvals.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'approval', id }),
}

const Filters = {
  project_id: Id.optional(),
  status: ApprovalStatus.optional(),
  tool_id: Id.optional(),
  agent_id: Id.optional(),
  principal_id: Id.optional().describe('The requester'),
}

export const listApprovals = lists({
  name: 'list-approvals',
  permission: 'approvals:ListApprovals',
  route: 'GET /approvals',
  summary: 'List approvals, newest first',
  of: approval as unknown as RecordKind<ApprovalSummary>,
  input: z.strictObject({ ...Filters, ...Paging }),
  output: pageOf(ApprovalSummary),
  run: (filter, { store, visible }) => store.approvals.list(filter, visible),
})

export const getApproval = operation({
  name: 'get-approval',
  permission: 'approvals:GetApproval',
  route: 'GET /approvals/{approval_id}',
  summary: 'Get an approval with its arguments; the requester can as well',
  input: z.strictObject({ id: Id }),
  output: Approval,
  async run({ id }, { store, principal }) {
    const found = await store.approvals.find(id)
    const isOwn = found?.principal.id === principal.id
    if (!found || !(isOwn || evaluate(principal, 'approvals:GetApproval', approval.resource(found)).allowed)) {
      throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'approval', id })
    }
    return shown(found)
  },
})

const Reason = Text.trim().max(2000)
const ArgsHash = z
  .string()
  .max(64)
  .optional()
  .describe('The args_hash you reviewed; the decision is refused if the arguments have changed since')

export const approveCall = acts({
  name: 'approve-call',
  permission: 'approvals:DecideApproval',
  route: 'POST /approvals/{approval_id}/approve',
  summary: 'Approve a call, optionally with edited arguments',
  example: { reason: 'Checked with the customer.' },
  on: approval,
  byPeople: true,
  input: z.strictObject({
    id: Id,
    input: jsonObject('All arguments, edited. Hidden values that you leave hidden are kept').nullish(),
    reason: Reason.nullish(),
    args_hash: ArgsHash,
  }),
  output: Approval,
  run: ({ input, reason, args_hash }, context) =>
    decide(context, { decision: 'approve', reason: reason ?? null, args_hash, input: input ?? undefined }),
})

export const rejectCall = acts({
  name: 'reject-call',
  permission: 'approvals:DecideApproval',
  route: 'POST /approvals/{approval_id}/reject',
  summary: 'Reject a call; the caller receives the reason',
  example: { reason: 'The amount is too high.' },
  on: approval,
  byPeople: true,
  input: z.strictObject({ id: Id, reason: Reason.nullish(), args_hash: ArgsHash }),
  output: Approval,
  run: ({ reason, args_hash }, context) =>
    decide(context, { decision: 'reject', reason: reason ?? null, args_hash, input: undefined }),
})

export const cancelApproval = operation({
  name: 'cancel-approval',
  permission: 'approvals:CancelApproval',
  route: 'POST /approvals/{approval_id}/cancel',
  summary: 'Withdraw an approval request; the requester can as well',
  example: {},
  input: z.strictObject({ id: Id }),
  output: Approval,
  async run({ id }, context) {
    const { store, principal } = context
    const found = await store.approvals.find(id)
    if (!found) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'approval', id })
    const isOwn = found.principal.id === principal.id
    if (!isOwn) requireAllowed(principal, 'approvals:CancelApproval', approval.resource(found))
    const [cancelled] = await store.approvals.cancel({ id })
    const now = (await store.approvals.find(id)) ?? found
    if (cancelled === undefined) throw decidedAlready(now)
    await resumeRun(now, context)
    return shown(now)
  },
})

export const streamApprovals = lists({
  name: 'stream-approvals',
  permission: 'approvals:ListApprovals',
  route: 'GET /approvals/stream',
  summary: 'Stream approval requests and decisions as server-sent events',
  answers: 'events',
  of: approval as unknown as RecordKind<ApprovalSummary>,
  input: z.strictObject(Filters),
  output: ApprovalSummary,
  async run(filter, { store, authenticator, principal }): Promise<EventStream> {
    const wanted = (one: ApprovalSummary) =>
      evaluate(principal, 'approvals:ListApprovals', approval.resource(one)).allowed && matches(one, filter)
    return {
      async subscribe(send, end) {
        const stopWatching = authenticator.onChange(principal, end)
        const stopHearing = store.changes.subscribe('approvals', async (ids) => {
          const changed = await store.approvals.findMany(ids).catch(() => [])
          for (const one of changed.filter(wanted)) send({ name: eventOf(one), id: one.id, data: one })
        })
        return () => {
          stopWatching()
          stopHearing()
        }
      },
    }
  },
})

/** If two people have to approve, the first decision leaves the approval pending. */
const eventOf = ({ status, decisions }: ApprovalSummary): string =>
  status !== 'pending' ? 'approval.decided' : decisions.length === 0 ? 'approval.requested' : 'approval.reviewed'

function matches(one: ApprovalSummary, filter: ApprovalFilter): boolean {
  const facts: ApprovalFilter = { ...one, agent_id: one.agent_id ?? '', principal_id: one.principal.id }
  return Object.entries(filter).every(
    ([field, value]) => value === undefined || facts[field as keyof ApprovalFilter] === value,
  )
}

interface Verdict {
  readonly decision: Decision['decision']
  readonly reason: string | null
  readonly args_hash: string | undefined
  readonly input: JsonObject | undefined
}

/** Records a decision on the current arguments. If another decision came first, throws an error that contains it. */
async function decide(context: Context & { readonly target: Approval }, verdict: Verdict): Promise<Approval> {
  const { store, principal } = context
  for (let seen = context.target; ; ) {
    const line = await lineOf([principal.id, ...seen.decisions.map(({ by }) => by.id)], store)
    requireAnother(seen, principal, line)
    if (seen.status !== 'pending' || Date.parse(seen.expires_at) <= Date.now()) throw decidedAlready(seen)
    if (verdict.args_hash !== undefined && verdict.args_hash !== seen.args_hash) {
      throw new PlatformError('APPROVAL_CHANGED', { approval_id: seen.id, args_hash: seen.args_hash })
    }
    const edited = verdict.input && (await checkEdited(verdict.input, seen, context.catalogue))
    const done = await store.approvals.decide(seen, decided(seen, { ...verdict, input: edited }, principal, line))
    if (done) {
      await resumeRun(done, context)
      return shown(done)
    }
    seen = (await store.approvals.find(seen.id)) ?? { ...seen, status: 'expired' }
  }
}

/** Resumes the run that is paused for this approval. A call that waits for it gets the change event. */
async function resumeRun({ status, generation_id, call_id }: Approval, context: Context): Promise<void> {
  if (status === 'pending') return
  const { runner, workflows, store } = context
  await workflows.wakeCaller(call_id)
  const run = generation_id === null ? undefined : await store.generations.find(generation_id)
  if (run) await runner.resume(run)
}

function requireAnother({ id: approval_id, principal }: Approval, { id, kind }: Principal, line: KeyLine): void {
  const isSame = id === principal.id
  if (!isSame && !descends(id, principal.id, line)) return
  const same = kind === 'user' ? 'same person' : 'same key'
  throw new PlatformError('SELF_APPROVAL', { approval_id, reason: isSame ? same : 'created by the requester' })
}

/** The state of an approval after a decision. Only approvals of the current arguments count. */
function decided(seen: Approval, verdict: Verdict, { id, name }: Context['principal'], line: KeyLine): DecisionResult {
  const now = Date.now()
  const by = { id, name }
  const { decision, reason, input } = verdict
  const isOther = input !== undefined && canonical(input) !== canonical(seen.edited_input ?? seen.input)
  const edited_input = isOther ? input : seen.edited_input
  const args_hash = isOther ? hashOf(input) : seen.args_hash
  const alike = seen.decisions.filter(
    (one) => one.decision === 'approve' && one.args_hash === args_hash && line.has(one.by.id),
  )
  const before = decision === 'approve' ? alike.find(({ by: other }) => isOnePerson(other.id, id, line)) : undefined
  if (before) {
    const approved_by = before.by.id === id ? undefined : before.by.name
    throw new PlatformError('SECOND_PERSON_REQUIRED', { approval_id: seen.id, ...(approved_by && { approved_by }) })
  }
  const isLast = decision === 'reject' || alike.length + 1 >= seen.approvals_needed
  const status = !isLast ? 'pending' : decision === 'approve' ? 'approved' : 'rejected'
  return {
    status,
    decisions: [...seen.decisions, { decision, by, at: iso(now), reason, args_hash }],
    by: isLast ? by : null,
    at: isLast ? now : null,
    reason: isLast ? reason : null,
    args_hash,
    edited_input,
    expires_at: status === 'approved' ? now + grantMs : Date.parse(seen.expires_at),
  }
}

const decidedAlready = ({ id, status, decided_by }: Approval) =>
  new PlatformError('APPROVAL_DECIDED', {
    approval_id: id,
    status: status === 'pending' ? 'expired' : status,
    decided_by: decided_by?.name ?? null,
  })
