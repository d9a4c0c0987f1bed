import { useNow } from '../../clock.ts'
import { when } from '../../format.ts'

const two = (number: number) => String(number).padStart(2, '0')

function left(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000))
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600), Math.floor(seconds / 60)]
  if (days > 0) return `${days} d ${hours % 24} h`
  if (hours > 0) return `${hours} h ${two(minutes % 60)} min`
  return `${minutes}:${two(seconds % 60)}`
}

/** The time left to decide. The last minute stands out, and not by colour alone. */
export function Countdown({ until, long = false }: { until: string; long?: boolean }) {
  const rest = Date.parse(until) - useNow()
  const colours =
    rest <= 60_000 ? 'bg-bad-wash text-bad font-semibold' : rest <= 120_000 ? 'bg-warn-wash text-warn' : 'text-soft'
  return (
    <time
      dateTime={until}
      title={`Until ${when(until)}`}
      data-urgent={rest <= 60_000 || undefined}
      className={`inline-flex items-center rounded-sm px-1.5 py-0.5 text-xs whitespace-nowrap tabular-nums ${colours}`}
    >
      {rest <= 0 ? 'expired' : `${left(rest)}${long ? ' left' : ''}`}
      {long && rest > 0 && rest <= 60_000 && ': decide now'}
    </time>
  )
}
