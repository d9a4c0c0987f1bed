import type { ReactNode } from 'react'

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'accent'

const tones: Record<Tone, string> = {
  plain: 'bg-sunken text-soft',
  good: 'bg-good-wash text-good',
  warn: 'bg-warn-wash text-warn',
  bad: 'bg-bad-wash text-bad',
  accent: 'bg-accent-wash text-accent',
}

export const Badge = ({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) => (
  <span
    className={`inline-flex items-center rounded-sm px-1.5 py-0.5 text-xs font-medium whitespace-nowrap ${tones[tone]}`}
  >
    {children}
  </span>
)

const statuses: Record<string, readonly [Tone, string]> = {
  // Running, or waiting for approval.
  pending: ['accent', 'pending'],
  success: ['good', 'success'],
  validation_error: ['warn', 'invalid input'],
  permission_denied: ['warn', 'denied'],
  rejected: ['warn', 'rejected'],
  execution_error: ['bad', 'failed'],
}

export const statusName = (status: string): string => statuses[status]?.[1] ?? status

/** A status badge. Success is subtle, so that everything else stands out. */
export const Status = ({ status }: { status: string }) =>
  status === 'success' ? (
    <span className="inline-flex items-center gap-1.5 text-xs text-soft">
      <span className="size-1.5 rounded-full bg-good" />
      {statusName(status)}
    </span>
  ) : (
    <Badge tone={statuses[status]?.[0] ?? 'plain'}>{statusName(status)}</Badge>
  )
