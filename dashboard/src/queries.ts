import { MutationCache, QueryCache, QueryClient, useQuery } from '@tanstack/react-query'
import { ask, askAll, Failure, findSession, qm, type Session } from './api.ts'
import { useProjectId } from './project.ts'

/** A session that has ended somewhere else ends here, too. */
const onError = (error: Error) => {
  if (error instanceof Failure && error.status === 401) become(null)
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // What the platform refused once, it refuses again; only the way to it may get better.
      retry: (count, error) => count < 2 && error instanceof Failure && error.code === 'NETWORK',
    },
  },
})

/** Somebody, or nobody, is signed in from now on: what was seen before is not for them. */
export function become(session: Session | null): void {
  queries.setQueryData(['session'], session)
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
}

export const useSession = () =>
  useQuery({ queryKey: ['session'], queryFn: findSession, staleTime: 5 * 60_000, refetchInterval: 30 * 60_000 })

const inProject = (projectId: string | undefined) => (projectId ? { project_id: projectId } : {})

export function useTools() {
  const projectId = useProjectId()
  return useQuery({
    queryKey: ['tools', projectId],
    queryFn: () => askAll((page) => qm.tools.listTools({ query: { ...inProject(projectId), ...page } })),
  })
}

export function useServers() {
  const projectId = useProjectId()
  return useQuery({
    queryKey: ['servers', projectId],
    queryFn: () => askAll((page) => qm.servers.listServers({ query: { ...inProject(projectId), ...page } })),
  })
}

export function useSkills() {
  const projectId = useProjectId()
  return useQuery({
    queryKey: ['skills', projectId],
    queryFn: () => askAll((page) => qm.skills.listSkills({ query: { ...inProject(projectId), ...page } })),
  })
}

export const useProjects = () =>
  useQuery({
    queryKey: ['projects'],
    queryFn: () => askAll((page) => qm.projects.listProjects({ query: page })),
  })

export function useKeys() {
  const projectId = useProjectId()
  return useQuery({
    queryKey: ['api-keys', projectId],
    queryFn: () => askAll((page) => qm.apiKeys.listApiKeys({ query: { ...inProject(projectId), ...page } })),
  })
}

export function usePolicies() {
  return useQuery({
    queryKey: ['access-policies'],
    queryFn: () => askAll((page) => qm.accessPolicies.listAccessPolicies({ query: page })),
  })
}

export const useTool = (id: string) =>
  useQuery({ queryKey: ['tool', id], queryFn: () => ask(qm.tools.getTool({ path: { tool_id: id } })) })

export const useToolActions = (id: string, enabled = true) =>
  useQuery({
    queryKey: ['tool-actions', id],
    enabled,
    queryFn: () => askAll((page) => qm.tools.listToolActions({ path: { tool_id: id }, query: page })),
  })
