import { Badge, type Tone } from '../../ui/badge.tsx'

export const statuses: readonly (readonly [string, string, Tone])[] = [
  ['in_progress', 'running', 'accent'],
  ['requires_action', 'waiting', 'warn'],
  ['completed', 'completed', 'good'],
  ['failed', 'failed', 'bad'],
  ['cancelled', 'stopped', 'plain'],
]

/** A status badge. Success is subtle, so that everything else stands out. */
export function GenerationStatus({ status }: { status: string }) {
  const [, name, tone] = statuses.find(([known]) => known === status) ?? [status, status, 'plain' as const]
  if (status !== 'completed') return <Badge tone={tone}>{name}</Badge>
  return (
    <span className="inline-flex items-center gap-1.5 text-xs whitespace-nowrap text-soft">
      <span className="size-1.5 rounded-full bg-good" />
      {name}
    </span>
  )
}

export const isUnderWay = (status: string): boolean => status === 'in_progress' || status === 'requires_action'
