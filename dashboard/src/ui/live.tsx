import type { LiveState } from '../live.ts'

const words: Record<LiveState, string> = { live: 'Live', waiting: 'Reconnecting', off: 'Paused' }
const dots: Record<LiveState, string> = { live: 'bg-good', waiting: 'bg-warn', off: 'bg-edge' }

export const LiveMark = ({ state }: { state: LiveState }) => (
  <span role="status" className="inline-flex items-center gap-1.5 text-xs text-soft">
    <span className={`size-2 rounded-full ${dots[state]}`} />
    {words[state]}
  </span>
)
