import { useQuery } from '@tanstack/react-query'
import { ask, qm } from '../../api.ts'
import { useAll } from '../../queries.ts'

export type {
  Agent,
  AiProvider,
  AiProviderSummary as ListedAiProvider,
  Generation,
  GenerationCall as StepCall,
  GenerationDetail,
  GenerationResult as Result,
  GenerationStep as Step,
  GenerationTrace as TraceNode,
} from '../../api.ts'

export const useAgents = () => useAll('agents', (query) => qm.agents.listAgents({ query }))

export const useAgent = (id: string) =>
  useQuery({ queryKey: ['agent', id], queryFn: () => ask(qm.agents.getAgent({ path: { agent_id: id } })) })

export const useAiProviders = () => useAll('ai-providers', (query) => qm.aiProviders.listAiProviders({ query }))

export const useAiProvider = (id: string) =>
  useQuery({
    queryKey: ['ai-provider', id],
    queryFn: () => ask(qm.aiProviders.getAiProvider({ path: { ai_provider_id: id } })),
  })
