import { Badge, type Tone } from '../../ui/badge.tsx'

export const runStatuses: readonly (readonly [string, string, Tone])[] = [
  ['running', 'running', 'accent'],
  ['waiting', 'waiting', 'warn'],
  ['completed', 'completed', 'good'],
  ['failed', 'failed', 'bad'],
  ['cancelled', 'cancelled', 'plain'],
]

const stepTones: Record<string, Tone> = { running: 'accent', waiting: 'warn', done: 'good', failed: 'bad' }

/** The status of a run or a step. Success is subtle, so that everything else stands out. */
export function RunStatus({ status }: { status: string }) {
  const tone = runStatuses.find(([known]) => known === status)?.[2] ?? stepTones[status] ?? 'plain'
  if (tone !== 'good') return <Badge tone={tone}>{status.replaceAll('_', ' ')}</Badge>
  return (
    <span className="inline-flex items-center gap-1.5 text-xs whitespace-nowrap text-soft">
      <span className="size-1.5 rounded-full bg-good" />
      {status}
    </span>
  )
}

export const isUnderWay = (status: string): boolean => status === 'running' || status === 'waiting'
