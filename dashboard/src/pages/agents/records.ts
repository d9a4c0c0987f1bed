import { useQuery } from '@tanstack/react-query'
import { type Answer, ask, askAll, qm } from '../../api.ts'
import { useProjectId } from '../../project.ts'

export type Agent = Answer<'agents', 'getAgent'>
export type AiProvider = Answer<'aiProviders', 'getAiProvider'>
export type ListedAiProvider = Answer<'aiProviders', 'listAiProviders'>['data'][number]
export type Generation = Answer<'agents', 'listGenerations'>['data'][number]
export type GenerationDetail = Answer<'agents', 'getGeneration'>
export type Result = Answer<'agents', 'cancelGeneration'>
export type Step = GenerationDetail['step_list'][number]
export type StepCall = Step['calls'][number]

/** A run and all that it started. */
export type TraceNode = GenerationDetail & { readonly children: readonly TraceNode[] }

export function useAgents() {
  const projectId = useProjectId()
  const inProject = projectId ? { project_id: projectId } : {}
  return useQuery({
    queryKey: ['agents', projectId],
    queryFn: () => askAll((page) => qm.agents.listAgents({ query: { ...inProject, ...page } })),
  })
}

export const useAgent = (id: string) =>
  useQuery({ queryKey: ['agent', id], queryFn: () => ask(qm.agents.getAgent({ path: { agent_id: id } })) })

export function useAiProviders() {
  const projectId = useProjectId()
  const inProject = projectId ? { project_id: projectId } : {}
  return useQuery({
    queryKey: ['ai-providers', projectId],
    queryFn: () => askAll((page) => qm.aiProviders.listAiProviders({ query: { ...inProject, ...page } })),
  })
}

export const useAiProvider = (id: string) =>
  useQuery({
    queryKey: ['ai-provider', id],
    queryFn: () => ask(qm.aiProviders.getAiProvider({ path: { ai_provider_id: id } })),
  })
