import { MutationCache, QueryCache, QueryClient, useQuery } from '@tanstack/react-query'
import type { Outcome } from 'quartermaster/sdk'
import { ask, askAll, Failure, findSession, type Listed, qm, type Session } from './api.ts'
import { useProjectId } from './project.ts'

/** Signs the user out if the platform reports that the session has ended. */
const onError = (error: Error) => {
  if (error instanceof Failure && error.status === 401) setSession(null)
}

export const queries = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Errors from the platform are final. Only network errors are worth a retry.
      retry: (count, error) => count < 2 && error instanceof Failure && error.code === 'NETWORK',
    },
  },
})

/** Signs the user in or out, and drops all data of the previous session. */
export function setSession(session: Session | null): void {
  queries.setQueryData(['session'], session)
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
}

export const useSession = () =>
  useQuery({ queryKey: ['session'], queryFn: findSession, staleTime: 5 * 60_000, refetchInterval: 30 * 60_000 })

/** Whether the visitor may do this somewhere. */
export const useMay = (permission: string): boolean => useSession().data?.permissions.includes(permission) ?? false

interface Window {
  readonly project_id?: string
  readonly limit: number
  readonly offset: number
}

/** All records of a kind in the selected project. */
export function useAll<Item>(key: string, list: (query: Window) => Promise<Outcome<Listed<Item>>>) {
  const projectId = useProjectId()
  return useQuery({
    queryKey: [key, projectId],
    queryFn: () => askAll((page) => list({ ...(projectId && { project_id: projectId }), ...page })),
  })
}

export const useTools = () => useAll('tools', (query) => qm.tools.listTools({ query }))

export const useServers = () => useAll('servers', (query) => qm.servers.listServers({ query }))

export const useModes = () => useAll('modes', (query) => qm.modes.listModes({ query }))

export const useSkills = () => useAll('skills', (query) => qm.skills.listSkills({ query }))

export const useProjects = () =>
  useQuery({
    queryKey: ['projects'],
    queryFn: () => askAll((page) => qm.projects.listProjects({ query: page })),
  })

export const useKeys = () => useAll('api-keys', (query) => qm.apiKeys.listApiKeys({ query }))

/** People of all projects, like keys that are not bound to one. */
export const usePeople = (enabled = true) =>
  useQuery({ queryKey: ['people'], enabled, queryFn: () => askAll((page) => qm.users.listUsers({ query: page })) })

export function usePolicies() {
  return useQuery({
    queryKey: ['access-policies'],
    queryFn: () => askAll((page) => qm.accessPolicies.listAccessPolicies({ query: page })),
  })
}

export const useTool = (id: string) =>
  useQuery({ queryKey: ['tool', id], queryFn: () => ask(qm.tools.getTool({ path: { tool_id: id } })) })

export const useDefinitionChanges = (id: string) =>
  useQuery({
    queryKey: ['definition-changes', id],
    queryFn: () => askAll((page) => qm.tools.listDefinitionChanges({ path: { tool_id: id }, query: page })),
  })

export const useToolActions = (id: string, enabled = true) =>
  useQuery({
    queryKey: ['tool-actions', id],
    enabled,
    queryFn: () => askAll((page) => qm.tools.listToolActions({ path: { tool_id: id }, query: page })),
  })
