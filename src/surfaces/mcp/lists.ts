import type { JsonObject } from '../../model/json.ts'
import { agentTools } from './agent-mode.ts'
import { readResultTool } from './large-results.ts'
import { listed } from './listing.ts'
import { skillTools } from './skills.ts'
import type { Visit } from './visit.ts'

/** What a client would be told of in either mode. */
export async function toolLists(one: Visit): Promise<{ direct: readonly JsonObject[]; agent: readonly JsonObject[] }> {
  const { retrieve_skill, result_limit } = one.server
  const own = [...(retrieve_skill ? skillTools : []), ...(result_limit === null ? [] : [readResultTool])]
  const actions = (await one.named()).map((named) => listed(named).value)
  return { direct: [...own, ...actions], agent: [...own, ...agentTools] }
}
