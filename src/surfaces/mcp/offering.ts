import type { SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import type { JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import type { Context } from '../../operations/operation.ts'
import { agentInstructions } from './agent-mode.ts'
import { callTool } from './call-tool.ts'
import { Listed, type ListPage, pageOf } from './listing.ts'
import { callOperation, listOperations } from './management.ts'
import type { ToolResult } from './results.ts'
import { skillsExtension } from './skill-resources.ts'
import { introduceSkills } from './skills.ts'
import { listTools } from './tool-list.ts'
import type { Visit } from './visit.ts'

/** What one caller finds at one endpoint. */
export interface Offering {
  readonly key: string
  readonly principalId: string
  readonly info: { readonly name: string; readonly title: string; readonly version: string }
  /** For the agent behind the client, at the start; may be empty. */
  instructions(): Promise<string>
  list(cursor: string | undefined): Promise<ListPage>
  /** Of the input of a tool, as the caller sees it. */
  schemaOf(tool: string): Promise<JsonObject | undefined>
  readonly skills: (() => SkillsExtension) | undefined
  /** `client` is what the caller's program calls itself in this very request, if it does. */
  call(name: string, input: JsonObject, live: Live, client: Client | undefined): Promise<ToolResult>
}

type Client = Context['client']

export class ServerOffering implements Offering {
  readonly #visit: Visit
  readonly #version: string

  constructor(visit: Visit, version: string) {
    this.#visit = visit
    this.#version = version
  }

  get key(): string {
    return this.#visit.server.id
  }

  get principalId(): string {
    return this.#visit.principal.id
  }

  get info(): Offering['info'] {
    const { slug, name } = this.#visit.server
    return { name: slug, title: name, version: this.#version }
  }

  async instructions(): Promise<string> {
    await this.#visit.renew()
    const { server } = this.#visit
    const order = server.agent_mode ? agentInstructions(server) : undefined
    const skills = server.retrieve_skill ? await introduceSkills(this.#visit) : undefined
    return [server.description, order, skills].filter((text) => text).join('\n\n')
  }

  list(cursor: string | undefined): Promise<ListPage> {
    return listTools(this.#visit, cursor)
  }

  async schemaOf(name: string): Promise<JsonObject | undefined> {
    return this.#visit.server.agent_mode ? undefined : (await this.#visit.find(name))?.offer.shown
  }

  get skills(): Offering['skills'] {
    return this.#visit.server.retrieve_skill ? () => skillsExtension(this.#visit) : undefined
  }

  call(name: string, input: JsonObject, live: Live, client: Client | undefined): Promise<ToolResult> {
    return callTool(client ? this.#visit.by(client) : this.#visit, name, input, live)
  }
}

/** The platform itself: its operations. */
export function managementOffering(context: Context, version: string): Offering {
  return {
    key: 'the platform itself',
    principalId: context.principal.id,
    info: { name: 'quartermaster', title: 'Quartermaster', version },
    instructions: async () =>
      'Manages a Quartermaster: its tools, servers, skills, keys, documents and files, and the record of calls.',
    list: async (cursor) => pageOf(listOperations(context), (value) => new Listed(value), cursor),
    schemaOf: async () => undefined,
    skills: undefined,
    call: (name, input, live, client = context.client) => callOperation(name, input, { ...context, client, live }),
  }
}
