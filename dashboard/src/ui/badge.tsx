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
  pending: ['accent', 'running'],
  success: ['good', 'success'],
  validation_error: ['warn', 'invalid input'],
  permission_denied: ['warn', 'denied'],
  rejected: ['warn', 'rejected'],
  execution_error: ['bad', 'failed'],
}

export const statusName = (status: string): string => statuses[status]?.[1] ?? status
export const statusTone = (status: string): Tone => statuses[status]?.[0] ?? 'plain'

export const Status = ({ status }: { status: string }) => <Badge tone={statusTone(status)}>{statusName(status)}</Badge>
