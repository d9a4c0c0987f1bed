import type { ApprovalSummary } from '../../api.ts'
import type { Tone } from '../../ui/badge.tsx'

type Status = ApprovalSummary['status']
type Gate = ApprovalSummary['why'][number]

const statuses: Record<Status, readonly [Tone, string]> = {
  pending: ['accent', 'waiting'],
  approved: ['good', 'approved'],
  used: ['good', 'approved, made'],
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

/** By which way the call came, as far as it says. */
export const throughWhat = (approval: ApprovalSummary): string =>
  [surfaceWord(approval.surface), clientOf(approval)].filter(Boolean).join(', ')

/** Why it asked, in a few words for a line of a list. */
export function gateInShort({ gate, name }: Gate): string {
  switch (gate) {
    case 'rule':
      return name ?? 'a rule'
    case 'server':
      return `server ${name ?? ''}`.trim()
    case 'annotation':
      return 'may destroy'
    case 'level':
      return 'level'
    default:
      return 'every call'
  }
}

/** Why it asked, in a sentence. */
export function gateInWords({ gate, name, reason }: Gate): string {
  switch (gate) {
    case 'tool':
      return `Every call of “${name}” is decided by a person.`
    case 'level':
      return `“${name}” is above the level open${reason ? `: ${reason}` : ''}.`
    case 'annotation':
      return `It may destroy something: nothing says that this action of “${name}” is harmless.`
    case 'server':
      return `Every call through the server “${name}” is decided by a person.`
    default:
      return `The rule “${name}” asks${reason ? `: ${reason}` : '.'}`
  }
}

/** What has become of it, for whoever was too late. */
export function decidedInWords(status: string, by: string | null): string {
  const who = by ?? 'Someone'
  switch (status) {
    case 'approved':
    case 'used':
      return `${who} has approved it already. You came second, and nothing of yours was done.`
    case 'rejected':
      return `${who} has rejected it already. You came second, and nothing of yours was done.`
    case 'cancelled':
      return 'It was withdrawn before you decided. The call is not made.'
    default:
      return 'Its time was up before you decided. It counts as rejected, and the call is not made.'
  }
}

/** Who has approved the arguments as they are now: only those count. */
export const approvedBy = ({ decisions, args_hash }: ApprovalSummary): ApprovalSummary['decisions'] =>
  decisions.filter((one) => one.decision === 'approve' && one.args_hash === args_hash)
