import { z } from 'zod'
import type { JsonObject } from '../lib/json.ts'
import { Id } from '../model/page.ts'
import { acts } from './operation.ts'
import { server } from './servers.ts'
import { countTokens, tokenizer } from './tokens.ts'

const Cost = z.object({
  tools: z.number().describe('How many tools a client is told of'),
  tokens: z.number().describe('What their names, descriptions and schemas cost a model, in every conversation'),
})

export const getServerFootprint = acts({
  name: 'get-server-footprint',
  permission: 'servers:GetServerFootprint',
  route: 'GET /servers/{server_id}/footprint',
  summary: 'Tell what the tool list of a server costs a model, in direct and in agent mode',
  on: server,
  input: z.strictObject({ id: Id }),
  output: z.object({
    tokenizer: z.string(),
    mode: z.enum(['direct', 'agent']).describe('The mode the server is in'),
    direct: Cost,
    agent: Cost,
    advice: z.object({ mode: z.enum(['direct', 'agent']), reason: z.string() }),
  }),
  async run(_, { target, toolLists, ...context }) {
    const lists = await toolLists(target, context)
    const counts = await countTokens([...lists.direct, ...lists.agent].map(shown))
    const direct = costOf(counts.slice(0, lists.direct.length))
    const agent = costOf(counts.slice(lists.direct.length))
    const advice = advise(direct.tokens, agent.tokens)
    const mode = target.agent_mode ? ('agent' as const) : ('direct' as const)
    return { tokenizer, mode, direct, agent, advice }
  },
})

/** What a client hands on to its model; the rest of a definition stays with the client. */
const shown = ({ name, description, inputSchema }: JsonObject) => JSON.stringify({ name, description, inputSchema })

const costOf = (counts: readonly number[]): z.infer<typeof Cost> => ({
  tools: counts.length,
  tokens: counts.reduce((sum, count) => sum + count, 0),
})

/** In agent mode a task costs a step more: finding the action. So many tokens of every conversation are worth it. */
const worthAStep = 4000

function advise(direct: number, agent: number): { mode: 'direct' | 'agent'; reason: string } {
  const saved = direct - agent
  if (saved < worthAStep) {
    const reason =
      saved > 0
        ? `Agent mode would save ${saved} tokens a conversation, which is less than the step of finding an action costs.`
        : `Agent mode would cost ${-saved} tokens more in every conversation: it is for servers with many tools.`
    return { mode: 'direct', reason }
  }
  const share = Math.round((100 * saved) / direct)
  return { mode: 'agent', reason: `Agent mode saves ${saved} tokens a conversation, ${share} % of the tool list.` }
}
