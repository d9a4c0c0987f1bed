import { requireCall } from '../dispatch/authorize.ts'
import type { ApprovedCall, ValidCall } from '../dispatch/call.ts'
import type { DispatchDeps } from '../dispatch/deps.ts'
import type { CallRecord } from '../dispatch/record.ts'
import { shown } from '../dispatch/redact.ts'
import { resolve } from '../dispatch/resolve.ts'
import { hashOf } from '../lib/canonical.ts'
import type { Approval } from '../model/approval.ts'
import { transportOf } from '../model/call.ts'
import { PlatformError } from '../model/errors.ts'
import { type Outcome, Waiting } from '../model/outcome.ts'
import { definitionHash, repeatHash, sentInput } from './fingerprint.ts'
import { type ApprovalRequirement, type CompiledRule, requirementFor } from './gates.ts'
import { notifyWhileWaiting } from './notify-while-waiting.ts'
import { secretPathsOf } from './sensitive.ts'

/**
 * Decides whether the call may run now. If no gate requires approval, it is granted immediately. Otherwise the call is
 * recorded as begun and an approval is requested, which goes through these states:
 *
 *     pending ──approve──▶ approved ──take──▶ used
 *        │                    │
 *        ├──reject──▶ rejected├──cancel, stale──▶ cancelled
 *        └──timeout──▶ expired (also from approved, if the grant is not taken in time)
 *
 * The grant is taken before the call has its effect: only the process that moves the approval from `approved` to `used`
 * runs the call.
 *
 * A blocking caller waits here for the decision. Callers with `onWait` set to return or resume get `Waiting`, and take the
 * grant when they call again. If a caller gives up, its call stays open, and a repeat of the same call finds it.
 */
export function approve(call: ValidCall, record: CallRecord, deps: DispatchDeps): Decision | Promise<Decision> {
  // Built-in tools change nothing outside the turn that they belong to.
  if (call.builtIn) return grantedAtOnce(call)
  if (call.begunAt !== undefined) return resume(call, record, deps)
  return checkGates(call, record, deps)
}

export type Decision =
  | { readonly kind: 'granted'; readonly call: ApprovedCall }
  /** Not decided yet, or this caller cannot take the grant. The call is not over, and its record stays open. */
  | { readonly kind: 'open'; readonly outcome: Outcome }

function checkGates(call: ValidCall, record: CallRecord, deps: DispatchDeps): Decision | Promise<Decision> {
  const decide = (rules: readonly CompiledRule[]) => {
    const requirement = requirementFor(call, rules)
    return requirement ? requestAndWait(call, requirement, record, deps) : grantedAtOnce(call)
  }
  const { rules } = deps.coordinator
  const projectId = call.entry.tool.project_id
  const cached = rules.peek(projectId)
  return cached ? decide(cached) : rules.find(projectId).then(decide)
}

const grantedAtOnce = (call: ValidCall): Decision => ({
  kind: 'granted',
  call: { ...call, approvalId: null, waitedMs: null },
})

/** Resumes a call under its own id. An existing decision stands, even if the gates would now decide differently. */
async function resume(call: ValidCall, record: CallRecord, deps: DispatchDeps): Promise<Decision> {
  const approval = await deps.coordinator.store.findByCall(call.id)
  // The call may have been interrupted before approval was requested.
  if (!approval) return checkGates(call, record, deps)
  if (approval.status === 'used') return continueAfterGrant(call, approval)
  return takeOrWait(call, approval, deps)
}

/**
 * Continues a call whose grant was already taken: if it ran partly and then waited for a run or the client, if it had no
 * effect because it needs a connection, or if its action can be repeated or resumed. Otherwise it may have had its effect, so
 * it must not run again.
 */
function continueAfterGrant(call: ValidCall, approval: Approval): Decision {
  const waited = call.awaited !== undefined && call.awaited !== 'approval'
  const { idempotent, resumable } = call.prepared.action
  if (waited || idempotent || resumable) return granted(call, approval)
  throw new PlatformError('OUTCOME_UNKNOWN', { action: approval.action })
}

async function requestAndWait(
  call: ValidCall,
  requirement: ApprovalRequirement,
  record: CallRecord,
  deps: DispatchDeps,
): Promise<Decision> {
  const approval = await request(call, requirement, record, deps)
  return takeOrWait({ ...call, id: approval.call_id }, approval, deps)
}

/** Returns the open approval of an earlier identical call, or creates a new one. */
function request(
  call: ValidCall,
  requirement: ApprovalRequirement,
  record: CallRecord,
  deps: DispatchDeps,
): Promise<Approval> {
  const { coordinator } = deps
  const { options } = coordinator
  const input = sentInput(call.input, call.prepared)
  const repeat_hash = repeatHash(call, input)
  return coordinator.requests.run(repeat_hash, async () => {
    const open = await findOpen(repeat_hash, deps)
    if (open) {
      record.adopt(open.call_id, Date.parse(open.created_at))
      return open
    }
    await record.begin(call)
    const { entry, prepared, principal, surface, client, generation, server } = call
    const expires_at = Date.now() + (await coordinator.secondsFor(requirement, entry.tool.project_id)) * 1000
    const draft = {
      project_id: entry.tool.project_id,
      call_id: call.id,
      repeat_hash,
      tool_id: entry.tool.id,
      tool: entry.tool.name,
      action: prepared.action.id,
      input,
      args_hash: hashOf(input),
      preset_keys: Object.keys(prepared.presets),
      secret_paths: secretPathsOf(prepared.action.schema).map((path) => [...path]),
      definition_hash: definitionHash(entry, prepared),
      principal: { id: principal.id, name: principal.name },
      surface: transportOf(surface),
      client: { name: client.name, version: client.version },
      agent_id: generation?.agentId ?? null,
      generation_id: generation?.id ?? null,
      server_id: server?.id ?? null,
      why: [...requirement.why],
      approvals_needed: requirement.people,
      expires_at,
    }
    const approval = await coordinator.create(draft)
    if (!approval) return requestedElsewhere(call, deps)
    options.onRequested?.(shown(approval, 'outside'))
    return approval
  })
}

/** Finds an approval of the same call that can still be decided or used, and whose call record is open. */
async function findOpen(
  repeatHash: string,
  { coordinator: { store: approvals }, calls }: DispatchDeps,
): Promise<Approval | undefined> {
  const open = await approvals.findOpen(repeatHash)
  if (!open) return undefined
  if (Date.parse(open.expires_at) <= Date.now()) await approvals.expire()
  else if ((await calls.find(open.call_id))?.status === 'pending') return open
  // If the database failed between the two writes, the approval may exist without an open call record.
  else await approvals.cancel({ id: open.id })
  return undefined
}

/** Another process created an approval at the same time, either for this call or for an identical one. */
async function requestedElsewhere(
  call: ValidCall,
  { coordinator: { store: approvals } }: DispatchDeps,
): Promise<Approval> {
  const own = await approvals.findByCall(call.id)
  if (own) return own
  throw new PlatformError('APPROVAL_USED', { action: call.prepared.action.id })
}

/** An error while waiting does not end the call: a repeat of the same call can still take the grant. */
async function takeOrWait(call: ValidCall, approval: Approval, deps: DispatchDeps): Promise<Decision> {
  const found = await (call.onWait === undefined || call.onWait === 'block'
    ? waitForDecision(call, approval, deps)
    : take(call, approval, deps)
  ).catch((error: unknown): GrantResult => ({ kind: 'open', outcome: { kind: 'refused', error } }))
  if (found.kind === 'refused') throw found.error
  if (found.kind !== 'undecided') return found
  const { id, expires_at } = approval
  return { kind: 'open', outcome: new Waiting({ kind: 'approval', id, expiresAt: Date.parse(expires_at) }) }
}

function waitForDecision(call: ValidCall, approval: Approval, deps: DispatchDeps): Promise<GrantResult> {
  const gone = [call.live?.signal, call.gone?.()].filter((signal) => signal !== undefined)
  const notifications = notifyWhileWaiting(call, approval, deps.coordinator)
  return deps.coordinator
    .watch(approval, gone, async (woken) => {
      if (woken === 'changed') await requireStill(call, deps)
      if (woken === 'left') throw new PlatformError('CALL_CANCELLED', {})
      if (woken === 'closing') throw new PlatformError('SHUTTING_DOWN', {})
      const taken = await take(call, approval, deps)
      return taken.kind === 'undecided' ? undefined : taken
    })
    .finally(() => notifications[Symbol.dispose]())
}

/** Checks again that the caller may make the call: its key may have been revoked or restricted during the wait. */
async function requireStill({ principal, entry }: ValidCall, { authenticator }: DispatchDeps): Promise<void> {
  if (!authenticator) return
  const now = await authenticator.principal(principal.id)
  if (!now) throw new PlatformError('UNAUTHENTICATED', { reason: 'unknown' })
  requireCall(now, entry.tool)
}

type GrantResult =
  | Decision
  | { readonly kind: 'undecided' }
  | { readonly kind: 'refused'; readonly error: PlatformError }

/** Takes the grant if the call is approved. Resolves the tool again first, because it may have changed. */
async function take(call: ValidCall, { id, definition_hash }: Approval, deps: DispatchDeps): Promise<GrantResult> {
  const { store: approvals } = deps.coordinator
  const { entry, prepared } = resolve(call, await deps.catalogue.find(call.toolId))
  const fits = !prepared.withheld && definitionHash(entry, prepared) === definition_hash
  const taken = fits ? await approvals.take(id) : undefined
  if (taken) {
    await deps.calls.settle(prepared.action.idempotent ? 'repeatable' : 'once')
    return granted({ ...call, entry, prepared }, taken)
  }
  const seen = await approvals.find(id)
  if (!seen) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'approval', id })
  const isLate = Date.parse(seen.expires_at) <= Date.now()
  if ((seen.status === 'pending' || seen.status === 'approved') && isLate) {
    await approvals.expire()
    return take(call, seen, deps)
  }
  const { action } = seen
  switch (seen.status) {
    case 'pending':
    case 'approved': {
      if (fits) return { kind: 'undecided' }
      await approvals.cancel({ id })
      return { kind: 'refused', error: new PlatformError('APPROVAL_STALE', { action, approval_id: id }) }
    }
    case 'used':
      // The caller that took the grant completes the record.
      return { kind: 'open', outcome: { kind: 'refused', error: new PlatformError('APPROVAL_USED', { action }) } }
    default:
      return { kind: 'refused', error: refusalOf(seen) }
  }
}

/** The error for a call whose approval was rejected, cancelled or expired. */
export const refusalOf = (approval: Pick<Approval, 'id' | 'status' | 'action' | 'reason' | 'decided_at'>) => {
  const { id: approval_id, action, reason, decided_at } = approval
  if (approval.status === 'rejected') return new PlatformError('APPROVAL_REJECTED', { action, approval_id, reason })
  if (approval.status === 'cancelled') return new PlatformError('APPROVAL_CANCELLED', { action, approval_id })
  return new PlatformError('APPROVAL_EXPIRED', { action, approval_id, approved: decided_at !== null })
}

/** Runs with the approved arguments, edited or not, plus the tool's preset parameters. */
function granted(call: ValidCall, approval: Approval): Decision {
  const { id, input, edited_input } = approval
  const merged = { ...(edited_input ?? input), ...call.prepared.presets }
  return { kind: 'granted', call: { ...call, merged, approvalId: id, waitedMs: waitTimeOf(approval) } }
}

/** From the request for approval until the grant was taken, in milliseconds. */
export const waitTimeOf = ({ created_at, used_at }: Approval): number =>
  Math.max(0, (used_at === null ? Date.now() : Date.parse(used_at)) - Date.parse(created_at))
