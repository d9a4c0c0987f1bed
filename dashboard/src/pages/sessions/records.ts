import { useQuery } from '@tanstack/react-query'
import { ask, qm } from '../../api.ts'

export type { GuideDecision, RoutinePosition, Session, SessionEvent } from 'quartermaster/sdk'

/** A routine as the guide of an agent has it. */
export interface Routine {
  readonly id: string
  readonly title: string
  readonly entry: string
  readonly nodes: readonly {
    readonly id: string
    readonly kind: string
    readonly text: string
    readonly transitions: readonly {
      readonly to: string
      readonly condition: string | null
      readonly when: string | null
    }[]
  }[]
}

const pollMs = 1000

export const useSession = (id: string) =>
  useQuery({
    queryKey: ['session-record', id],
    queryFn: () => ask(qm.sessions.getSession({ path: { session_id: id } })),
    refetchInterval: pollMs,
  })

export const useEvents = (id: string) =>
  useQuery({
    queryKey: ['session-events', id],
    queryFn: () => ask(qm.sessions.listSessionEvents({ path: { session_id: id }, query: { limit: 1000 } })),
    refetchInterval: pollMs,
  })

/** The routines of an agent; none if it has no manifest. */
export const useRoutines = (agentId: string | undefined, hasGuide: boolean) =>
  useQuery({
    queryKey: ['agent-manifest', agentId],
    enabled: agentId !== undefined && hasGuide,
    queryFn: async () => {
      const { guide } = await ask(qm.agents.getAgentManifest({ path: { agent_id: agentId ?? '' } }))
      return (guide as unknown as { routines: Routine[] }).routines
    },
  })
