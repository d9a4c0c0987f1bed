import type { JsonObject } from '../../model/json.ts'
import { agentTools } from './agent-mode.ts'
import { listed } from './listing.ts'
import { skillTools } from './skills.ts'
import type { Visit } from './visit.ts'

/** What a client would be told of in either mode. */
export async function toolLists(one: Visit): Promise<{ direct: readonly JsonObject[]; agent: readonly JsonObject[] }> {
  const skills = one.server.retrieve_skill ? skillTools : []
  const actions = (await one.named()).map((named) => listed(named).value)
  return { direct: [...skills, ...actions], agent: [...skills, ...agentTools] }
}
