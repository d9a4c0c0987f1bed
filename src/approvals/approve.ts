import { requireCall } from '../dispatch/authorize.ts'
import type { Approved, Valid } from '../dispatch/call.ts'
import type { Host } from '../dispatch/host.ts'
import type { CallRecord } from '../dispatch/record.ts'
import { shown } from '../dispatch/redact.ts'
import { resolve } from '../dispatch/resolve.ts'
import { hashOf } from '../lib/canonical.ts'
import type { Approval } from '../model/approval.ts'
import { transportOf } from '../model/call.ts'
import { PlatformError } from '../model/errors.ts'
import { type Outcome, Waiting } from '../model/outcome.ts'
import { attend } from './attend.ts'
import { definitionHash, repeatHash, sentInput } from './frozen.ts'
import { type Demand, demandOn, type ReadyRule } from './gates.ts'
import { secretPathsOf } from './sensitive.ts'

/**
 * Whether the call may happen now. If no gate asks, it is granted at once. Otherwise it is recorded as begun, and an approval
 * is requested, which goes through these states:
 *
 *     pending ──approve──▶ approved ──take──▶ used
 *        │                    │
 *        ├──reject──▶ rejected├──cancel, stale──▶ cancelled
 *        └──time is up──▶ expired (so does an approved one that nobody takes)
 *
 * The grant is taken before the effect: only the process that moves the approval from `approved` to `used`
 * runs the call.
 * A caller that blocks waits here for that. One that returns or resumes gets `Waiting`, and takes the grant when it calls
 * again. A call whose caller gives up in between stays open, and the same call finds it.
 */
export function approve(call: Valid, record: CallRecord, host: Host): Decision | Promise<Decision> {
  if (call.begunAt !== undefined) return resume(call, record, host)
  return judge(call, record, host)
}

export type Decision =
  | { readonly kind: 'granted'; readonly call: Approved }
  /** Not decided, or not for this caller: the call is not over, and its record stays open. */
  | { readonly kind: 'open'; readonly outcome: Outcome }

function judge(call: Valid, record: CallRecord, host: Host): Decision | Promise<Decision> {
  const decide = (rules: readonly ReadyRule[]) => {
    const demand = demandOn(call, rules)
    return demand ? ask(call, demand, record, host) : grantedAtOnce(call)
  }
  const rules = host.desk.rules.of(call.entry.tool.project_id)
  return rules instanceof Promise ? rules.then(decide) : decide(rules)
}

const grantedAtOnce = (call: Valid): Decision => ({
  kind: 'granted',
  call: { ...call, approvalId: null, waitedMs: null },
})

/** Under its own id: what was decided on it holds, whatever the gates would say now. */
async function resume(call: Valid, record: CallRecord, host: Host): Promise<Decision> {
  const approval = await host.desk.approvals.findByCall(call.id)
  // It may have been cut off before anyone was asked.
  if (!approval) return judge(call, record, host)
  if (approval.status === 'used') return goOn(call, approval)
  return settle(call, approval, host)
}

/** Its grant was taken. It goes on if it had its effect by halves and waited since, or if a repeat does no harm. */
function goOn(call: Valid, approval: Approval): Decision {
  const waited = call.awaited === 'generation' || call.awaited === 'client'
  if (waited || call.offer.action.idempotent) return granted(call, approval)
  throw new PlatformError('OUTCOME_UNKNOWN', { action: approval.action })
}

async function ask(call: Valid, demand: Demand, record: CallRecord, host: Host): Promise<Decision> {
  const approval = await request(call, demand, record, host)
  return settle({ ...call, id: approval.call_id }, approval, host)
}

/** The approval for this call: the one that the same call asked for before and that is still open, or a new one. */
function request(call: Valid, demand: Demand, record: CallRecord, host: Host): Promise<Approval> {
  const { desk } = host
  const { options } = desk
  const input = sentInput(call.input, call.offer)
  const repeat_hash = repeatHash(call, input)
  return desk.inTurn(repeat_hash, async () => {
    const open = await findOpen(repeat_hash, host)
    if (open) {
      record.adopt(open.call_id, Date.parse(open.created_at))
      return open
    }
    await record.begin(call)
    const { entry, offer, principal, surface, client, generation, server } = call
    const expires_at = Date.now() + (await desk.secondsFor(demand, entry.tool.project_id)) * 1000
    const draft = {
      project_id: entry.tool.project_id,
      call_id: call.id,
      repeat_hash,
      tool_id: entry.tool.id,
      tool: entry.tool.name,
      action: offer.action.id,
      input,
      args_hash: hashOf(input),
      preset_keys: Object.keys(offer.presets),
      secret_paths: secretPathsOf(offer.action.schema).map((path) => [...path]),
      definition_hash: definitionHash(entry, offer),
      principal: { id: principal.id, name: principal.name },
      surface: transportOf(surface),
      client: { name: client.name, version: client.version },
      agent_id: generation?.agentId ?? null,
      generation_id: generation?.id ?? null,
      server_id: server?.id ?? null,
      why: [...demand.why],
      approvals_needed: demand.people,
      expires_at,
    }
    const approval = await desk.place(draft)
    if (!approval) return askedElsewhere(call, host)
    options.onRequested?.(shown(approval, 'outside'))
    return approval
  })
}

/** What the same call asked for before, if that can still be decided or made, and the record of that call is open. */
async function findOpen(repeatHash: string, { desk: { approvals }, calls }: Host): Promise<Approval | undefined> {
  const open = await approvals.findOpen(repeatHash)
  if (!open) return undefined
  if (Date.parse(open.expires_at) <= Date.now()) await approvals.expire()
  else if ((await calls.find(open.call_id))?.status === 'pending') return open
  // A database that failed in between may have kept the one and lost the other.
  else await approvals.cancel({ id: open.id })
  return undefined
}

/** Another process was asked the same at the same moment: for this very call, or for another one like it. */
async function askedElsewhere(call: Valid, { desk: { approvals } }: Host): Promise<Approval> {
  const own = await approvals.findByCall(call.id)
  if (own) return own
  throw new PlatformError('APPROVAL_USED', { action: call.offer.action.id })
}

/** Whatever keeps a caller from waiting on is no end of the call: the same call can still have the grant. */
async function settle(call: Valid, approval: Approval, host: Host): Promise<Decision> {
  const found = await (call.onWait === undefined || call.onWait === 'block'
    ? blocked(call, approval, host)
    : take(call, approval, host)
  ).catch((error: unknown): Taken => ({ kind: 'open', outcome: { kind: 'refused', error } }))
  if (found.kind === 'refused') throw found.error
  if (found.kind !== 'undecided') return found
  const { id, expires_at } = approval
  return { kind: 'open', outcome: new Waiting({ kind: 'approval', id, expiresAt: Date.parse(expires_at) }) }
}

/** Waits for the decision. */
function blocked(call: Valid, approval: Approval, host: Host): Promise<Taken> {
  const gone = [call.live?.signal, call.gone?.()].filter((signal) => signal !== undefined)
  const attending = attend(call, approval, host.desk)
  return host.desk
    .watch(approval, gone, async (woken) => {
      if (woken === 'changed') await requireStill(call, host)
      if (woken === 'left') throw new PlatformError('CALL_CANCELLED', {})
      if (woken === 'closing') throw new PlatformError('SHUTTING_DOWN', {})
      const taken = await take(call, approval, host)
      return taken.kind === 'undecided' ? undefined : taken
    })
    .finally(() => attending[Symbol.dispose]())
}

/** While people think, a key may be revoked, or lose what it was allowed. */
async function requireStill({ principal, entry }: Valid, { findPrincipal }: Host): Promise<void> {
  if (!findPrincipal) return
  const now = await findPrincipal(principal.id)
  if (!now) throw new PlatformError('UNAUTHENTICATED', { reason: 'unknown' })
  requireCall(now, entry.tool)
}

type Taken = Decision | { readonly kind: 'undecided' } | { readonly kind: 'refused'; readonly error: PlatformError }

/** The grant, if there is one now. The tool is looked at again: it may have changed. */
async function take(call: Valid, { id, definition_hash }: Approval, host: Host): Promise<Taken> {
  const { approvals } = host.desk
  const { entry, offer } = await resolve(call, host.catalogue)
  const fits = !offer.withheld && definitionHash(entry, offer) === definition_hash
  const taken = fits ? await approvals.take(id) : undefined
  if (taken) {
    await host.calls.settle(offer.action.idempotent ? 'repeatable' : 'once')
    return granted({ ...call, entry, offer }, taken)
  }
  const seen = await approvals.find(id)
  if (!seen) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'approval', id })
  const isLate = Date.parse(seen.expires_at) <= Date.now()
  if ((seen.status === 'pending' || seen.status === 'approved') && isLate) {
    await approvals.expire()
    return take(call, seen, host)
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
      // Its record is for the one who took the grant.
      return { kind: 'open', outcome: { kind: 'refused', error: new PlatformError('APPROVAL_USED', { action }) } }
    default:
      return { kind: 'refused', error: refusalOf(seen) }
  }
}

/** Why a call is not made whose approval has ended without it. */
export const refusalOf = (approval: Pick<Approval, 'id' | 'status' | 'action' | 'reason' | 'decided_at'>) => {
  const { id: approval_id, action, reason, decided_at } = approval
  if (approval.status === 'rejected') return new PlatformError('APPROVAL_REJECTED', { action, approval_id, reason })
  if (approval.status === 'cancelled') return new PlatformError('APPROVAL_CANCELLED', { action, approval_id })
  return new PlatformError('APPROVAL_EXPIRED', { action, approval_id, approved: decided_at !== null })
}

/** With the arguments that were decided on, and what is fixed on the tool. */
function granted(call: Valid, approval: Approval): Decision {
  const { id, input, edited_input } = approval
  const merged = { ...(edited_input ?? input), ...call.offer.presets }
  return { kind: 'granted', call: { ...call, merged, approvalId: id, waitedMs: waitedFor(approval) } }
}

/** From the request for approval until the grant was taken, in milliseconds. */
export const waitedFor = ({ created_at, used_at }: Approval): number =>
  Math.max(0, (used_at === null ? Date.now() : Date.parse(used_at)) - Date.parse(created_at))
