import { queryOptions, useQuery } from '@tanstack/react-query'
import { ask, qm } from '../../api.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'

export type State = 'up' | 'unknown' | 'down'

const words: Record<State, readonly [Tone, string]> = {
  up: ['good', 'up'],
  down: ['bad', 'down'],
  unknown: ['plain', 'not used yet'],
}

/** How the MCP server behind a tool was when it was last used. Nobody asks it for this. */
export const healthOf = (toolId: string) =>
  queryOptions({
    queryKey: ['health', toolId],
    queryFn: () => ask(qm.tools.getToolHealth({ path: { tool_id: toolId } })),
    refetchInterval: 15_000,
  })

export function HealthBadge({ state, error }: { state: State; error: string | null | undefined }) {
  // One that has failed a few times is not given up yet.
  const [tone, word] = state === 'unknown' && error ? (['warn', 'in trouble'] as const) : words[state]
  return <Badge tone={tone}>{word}</Badge>
}

/** For the head of a tool's page: how its server is, and what is wrong with it. */
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
