import { useQuery } from '@tanstack/react-query'
import { type Answer, ask, qm } from '../../api.ts'
import { useAll } from '../../queries.ts'

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

export const useAgents = () => useAll('agents', (query) => qm.agents.listAgents({ query }))

export const useAgent = (id: string) =>
  useQuery({ queryKey: ['agent', id], queryFn: () => ask(qm.agents.getAgent({ path: { agent_id: id } })) })

export const useAiProviders = () => useAll('ai-providers', (query) => qm.aiProviders.listAiProviders({ query }))

export const useAiProvider = (id: string) =>
  useQuery({
    queryKey: ['ai-provider', id],
    queryFn: () => ask(qm.aiProviders.getAiProvider({ path: { ai_provider_id: id } })),
  })
