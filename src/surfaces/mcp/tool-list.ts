import type { NamedAction } from '../../catalogue/server-catalogue.ts'
import type { JsonObject } from '../../lib/json.ts'
import { inSlices } from '../../lib/slices.ts'
import type { ServerTools } from '../../operations/operation.ts'
import { agentTools } from './agent-mode.ts'
import { runTool } from './call-tool.ts'
import { codeTool } from './code-mode.ts'
import { readResultTool } from './large-results.ts'
import { type ListPage, listed, pageOf, ToolListing } from './listing.ts'
import { PassThrough } from './pass-through.ts'
import type { ServerRequest } from './server-request.ts'
import { skillTools } from './skills.ts'

type Mode = 'direct' | 'agent'

const fixed = {
  skills: skillTools.map((value) => new ToolListing(value)),
  results: [new ToolListing(readResultTool)],
  code: [new ToolListing(codeTool)],
  agent: agentTools.map((value) => new ToolListing(value)),
}

/** The tools of a mode: our own tools and the actions. Actions are described later, and only those on the page. */
async function toolsIn(mode: Mode, request: ServerRequest): Promise<readonly (ToolListing | NamedAction)[]> {
  const { retrieve_skill, result_limit, code_mode } = request.server
  const own = [
    ...(retrieve_skill ? fixed.skills : []),
    ...(result_limit === null ? [] : fixed.results),
    ...(code_mode ? fixed.code : []),
  ]
  const rest = mode === 'agent' ? fixed.agent : await request.named()
  return own.length > 0 ? [...own, ...rest] : rest
}

const described = (tool: ToolListing | NamedAction, { server: { result_limit } }: ServerRequest): ToolListing =>
  tool instanceof ToolListing ? tool : listed(tool, result_limit === null ? 'whole' : 'cut')

export async function listTools(request: ServerRequest, cursor: string | undefined): Promise<ListPage> {
  const tools = await toolsIn(modeOf(request), request)
  return pageOf(tools, (tool) => described(tool, request), cursor)
}

/** The tools of a server for surfaces other than MCP. */
export const serverTools = (request: ServerRequest): ServerTools => ({
  list: async () => (await toolsIn(modeOf(request), request)).map((tool) => described(tool, request).value),
  call: (name, input, live) => runTool(request, name, input, live),
  async resources() {
    const through = new PassThrough(request)
    const [resources, templates] = await Promise.all([through.resources(), through.templates()])
    return { resources, templates }
  },
  read: (uri, live) => new PassThrough(request).read(uri, live),
})

const modeOf = ({ server }: ServerRequest): Mode => (server.agent_mode ? 'agent' : 'direct')

/** The tools of both modes. */
export async function toolLists(request: ServerRequest): Promise<Record<Mode, readonly JsonObject[]>> {
  const listIn = async (mode: Mode) => {
    const values: JsonObject[] = []
    for await (const some of inSlices(await toolsIn(mode, request))) {
      values.push(...some.map((tool) => described(tool, request).value))
    }
    return values
  }
  return { direct: await listIn('direct'), agent: await listIn('agent') }
}
