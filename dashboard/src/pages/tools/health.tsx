import { queryOptions, useQuery } from '@tanstack/react-query'
import { ask, qm } from '../../api.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'

export type State = 'up' | 'unknown' | 'down'

const words: Record<State, readonly [Tone, string]> = {
  up: ['good', 'up'],
  down: ['bad', 'down'],
  unknown: ['plain', 'not used yet'],
}

/** The health of the upstream MCP server as of its last use. It is not probed for this. */
export const healthOf = (toolId: string) =>
  queryOptions({
    queryKey: ['health', toolId],
    queryFn: () => ask(qm.tools.getToolHealth({ path: { tool_id: toolId } })),
    refetchInterval: 15_000,
  })

export function HealthBadge({ state, error }: { state: State; error: string | null | undefined }) {
  // After a few failures, the platform still retries.
  const [tone, word] = state === 'unknown' && error ? (['warn', 'failing'] as const) : words[state]
  return <Badge tone={tone}>{word}</Badge>
}

/** The health of the upstream server, for the header of the tool page. */
export function Health({ toolId }: { toolId: string }) {
  const { data: health } = useQuery(healthOf(toolId))
  if (!health) return null
  return (
    <>
      <HealthBadge {...health} />
      {health.error && <span className="text-xs whitespace-normal text-bad">{health.error}</span>}
    </>
  )
}
