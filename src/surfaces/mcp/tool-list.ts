import type { Named } from '../../catalogue/shelf.ts'
import type { JsonObject } from '../../lib/json.ts'
import { agentTools } from './agent-mode.ts'
import { readResultTool } from './large-results.ts'
import { Listed, type ListPage, listed, pageOf } from './listing.ts'
import { skillTools } from './skills.ts'
import type { Visit } from './visit.ts'

type Mode = 'direct' | 'agent'

const fixed = {
  skills: skillTools.map((value) => new Listed(value)),
  results: [new Listed(readResultTool)],
  agent: agentTools.map((value) => new Listed(value)),
}

/** What a caller is told of in a mode: tools of our own, and the actions, which are described only where they are shown. */
async function toolsIn(mode: Mode, one: Visit): Promise<readonly (Listed | Named)[]> {
  const { retrieve_skill, result_limit } = one.server
  const own = [...(retrieve_skill ? fixed.skills : []), ...(result_limit === null ? [] : fixed.results)]
  const rest = mode === 'agent' ? fixed.agent : await one.named()
  return own.length > 0 ? [...own, ...rest] : rest
}

const described = (tool: Listed | Named, { server: { result_limit } }: Visit): Listed =>
  tool instanceof Listed ? tool : listed(tool, result_limit === null ? 'whole' : 'cut')

export async function listTools(one: Visit, cursor: string | undefined): Promise<ListPage> {
  const tools = await toolsIn(one.server.agent_mode ? 'agent' : 'direct', one)
  return pageOf(tools, (tool) => described(tool, one), cursor)
}

/** What it would be told of in either mode. */
export async function toolLists(one: Visit): Promise<Record<Mode, readonly JsonObject[]>> {
  const listIn = async (mode: Mode) => (await toolsIn(mode, one)).map((tool) => described(tool, one).value)
  return { direct: await listIn('direct'), agent: await listIn('agent') }
}
