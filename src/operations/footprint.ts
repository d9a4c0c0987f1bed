import { z } from 'zod'
import type { JsonObject } from '../lib/json.ts'
import { inSlices } from '../lib/slices.ts'
import { Id } from '../model/page.ts'
import { acts } from './operation.ts'
import { server } from './servers.ts'
import { countTokens, tokenizer } from './tokens.ts'

const Cost = z.object({
  tools: z.number().describe('Number of tools in the tool list'),
  tokens: z.number().describe('Tokens that their names, descriptions and schemas take up in every conversation'),
})

export const Footprint = z.object({
  tokenizer: z.string(),
  mode: z.enum(['direct', 'agent']).describe('The current mode of the server'),
  direct: Cost,
  agent: Cost,
  advice: z.object({ mode: z.enum(['direct', 'agent']), reason: z.string() }),
})

export const getServerFootprint = acts({
  name: 'get-server-footprint',
  permission: 'servers:GetServerFootprint',
  route: 'GET /servers/{server_id}/footprint',
  summary: 'Get the token cost of a server’s tool list, in direct and agent mode',
  on: server,
  input: z.strictObject({ id: Id }),
  output: Footprint,
  async run(_, { target, toolLists, ...context }) {
    const lists = await toolLists(target, context)
    const texts: string[] = []
    for await (const some of inSlices([...lists.direct, ...lists.agent])) texts.push(...some.map(shown))
    const counts = await countTokens(texts)
    const direct = costOf(counts.slice(0, lists.direct.length))
    const agent = costOf(counts.slice(lists.direct.length))
    const advice = advise(direct.tokens, agent.tokens)
    const mode = target.agent_mode ? ('agent' as const) : ('direct' as const)
    return { tokenizer, mode, direct, agent, advice }
  },
})

/** The parts of a definition that a client sends to its model. */
const shown = ({ name, description, inputSchema }: JsonObject) => JSON.stringify({ name, description, inputSchema })

const costOf = (counts: readonly number[]): z.infer<typeof Cost> => ({
  tools: counts.length,
  tokens: counts.reduce((sum, count) => sum + count, 0),
})

/** Agent mode adds a step to each task, finding the action. Saving this many tokens per conversation justifies it. */
const worthAStep = 4000

function advise(direct: number, agent: number): { mode: 'direct' | 'agent'; reason: string } {
  const saved = direct - agent
  if (saved < worthAStep) {
    const reason =
      saved > 0
        ? `Agent mode saves ${saved.toLocaleString('en')} tokens per conversation, but its extra search step costs more. Use direct mode.`
        : `Agent mode costs ${(-saved).toLocaleString('en')} more tokens per conversation. It is for servers with many tools. Use direct mode.`
    return { mode: 'direct', reason }
  }
  const share = Math.round((100 * saved) / direct)
  return {
    mode: 'agent',
    reason: `Agent mode saves ${saved.toLocaleString('en')} tokens per conversation, ${share}% of the tool list.`,
  }
}
