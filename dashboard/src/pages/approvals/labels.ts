import type { ApprovalSummary } from '../../api.ts'
import type { Tone } from '../../ui/badge.tsx'

type Status = ApprovalSummary['status']
type Gate = ApprovalSummary['why'][number]

const statuses: Record<Status, readonly [Tone, string]> = {
  pending: ['accent', 'pending'],
  approved: ['good', 'approved'],
  used: ['good', 'approved, executed'],
  rejected: ['bad', 'rejected'],
  expired: ['plain', 'expired'],
  cancelled: ['plain', 'withdrawn'],
}

export const statusTone = (status: Status): Tone => statuses[status][0]
export const statusWord = (status: Status): string => statuses[status][1]
export const allStatuses = Object.keys(statuses) as readonly Status[]

const surfaces: Partial<Record<ApprovalSummary['surface'], string>> = {
  mcp: 'MCP',
  rest: 'REST',
  sdk: 'SDK',
  cli: 'command line',
  agent: 'an agent',
  web: 'the dashboard',
}
export const surfaceWord = (surface: ApprovalSummary['surface']): string => surfaces[surface] ?? surface

export const clientOf = ({ client }: ApprovalSummary): string | undefined =>
  client.name ? [client.name, client.version].filter(Boolean).join(' ') : undefined

/** Where the call came from. */
export function throughWhat(approval: ApprovalSummary): string {
  const [surface, client] = [surfaceWord(approval.surface), clientOf(approval)]
  return client ? `${surface} (${client})` : surface
}

/** Why the call needs approval, for a line of a list. */
export function gateInShort({ gate, name }: Gate): string {
  switch (gate) {
    case 'rule':
      return name ?? 'a rule'
    case 'server':
      return `server ${name ?? ''}`.trim()
    case 'annotation':
      return 'destructive action'
    case 'level':
      return 'restricted level'
    default:
      return 'always requires approval'
  }
}

/** Why the call needs approval, in a sentence. */
export function gateInWords({ gate, name, reason }: Gate): string {
  switch (gate) {
    case 'tool':
      return `Every call of “${name}” requires approval.`
    case 'level':
      return `The level of “${name}” requires approval${reason ? `: ${reason}` : ''}.`
    case 'annotation':
      return `The action may be destructive: “${name}” does not declare it as safe.`
    case 'server':
      return `Every call through the server “${name}” requires approval.`
    default:
      return `The rule “${name}” requires approval${reason ? `: ${reason}` : '.'}`
  }
}

/** What happened, for a reviewer who decided too late. */
export function decidedInWords(status: string, by: string | null): string {
  const who = by ?? 'Someone'
  switch (status) {
    case 'approved':
    case 'used':
      return `${who} already approved this call. Your decision was not saved.`
    case 'rejected':
      return `${who} already rejected this call. Your decision was not saved.`
    case 'cancelled':
      return 'The request was withdrawn before you decided. Nothing was sent.'
    default:
      return 'The request expired before you decided. It counts as rejected, and nothing was sent.'
  }
}

/** Approvals of the current arguments. Only those count. */
export const approvedBy = ({ decisions, args_hash }: ApprovalSummary): ApprovalSummary['decisions'] =>
  decisions.filter((one) => one.decision === 'approve' && one.args_hash === args_hash)
