import type { SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import type { JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import type { Context } from '../../operations/operation.ts'
import { agentInstructions } from './agent-mode.ts'
import { callTool } from './call-tool.ts'
import { type ListPage, pageOf, ToolListing } from './listing.ts'
import { callOperation, listOperations } from './management.ts'
import { PassThrough } from './pass-through.ts'
import type { PassedKinds } from './pass-through-handlers.ts'
import type { ToolResult } from './results.ts'
import type { ServerRequest } from './server-request.ts'
import { skillsExtension } from './skill-resources.ts'
import { introduceSkills } from './skills.ts'
import { listTools } from './tool-list.ts'

/** What one caller sees at one endpoint. */
export interface McpServerView {
  readonly key: string
  readonly principalId: string
  readonly info: { readonly name: string; readonly title: string; readonly version: string }
  /** Instructions for the agent, sent when the client connects. May be empty. */
  instructions(): Promise<string>
  list(cursor: string | undefined): Promise<ListPage>
  /** The input schema of a tool, as the caller sees it. */
  schemaOf(tool: string): Promise<JsonObject | undefined>
  readonly skills: (() => SkillsExtension) | undefined
  /** The prompts and resources of the servers behind this one. */
  readonly passed: (PassedKinds & { readonly through: PassThrough }) | undefined
  /** `client` is the name that the client sends with this request, if it does. */
  call(name: string, input: JsonObject, live: Live, client: Client | undefined): Promise<ToolResult>
}

type Client = Context['client']

export class ServerView implements McpServerView {
  readonly #request: ServerRequest
  readonly #version: string

  constructor(request: ServerRequest, version: string) {
    this.#request = request
    this.#version = version
  }

  get key(): string {
    return this.#request.server.id
  }

  get principalId(): string {
    return this.#request.principal.id
  }

  get info(): McpServerView['info'] {
    const { slug, name } = this.#request.server
    return { name: slug, title: name, version: this.#version }
  }

  async instructions(): Promise<string> {
    await this.#request.refreshStale()
    const { server } = this.#request
    const order = server.agent_mode ? agentInstructions(server) : undefined
    const skills = server.retrieve_skill ? await introduceSkills(this.#request) : undefined
    return [server.description, order, skills].filter((text) => text).join('\n\n')
  }

  list(cursor: string | undefined): Promise<ListPage> {
    return listTools(this.#request, cursor)
  }

  async schemaOf(name: string): Promise<JsonObject | undefined> {
    return this.#request.server.agent_mode ? undefined : (await this.#request.find(name))?.prepared.publicSchema
  }

  get skills(): McpServerView['skills'] {
    return this.#request.server.retrieve_skill ? () => skillsExtension(this.#request) : undefined
  }

  get passed(): McpServerView['passed'] {
    const { pass_prompts: prompts, pass_resources: resources } = this.#request.server
    return { prompts, resources, through: new PassThrough(this.#request) }
  }

  call(name: string, input: JsonObject, live: Live, client: Client | undefined): Promise<ToolResult> {
    return callTool(client ? this.#request.withClient(client) : this.#request, name, input, live)
  }
}

/** The platform's own endpoint, with its operations as tools. */
export function managementView(context: Context, version: string): McpServerView {
  return {
    key: 'the platform itself',
    principalId: context.principal.id,
    info: { name: 'quartermaster', title: 'Quartermaster', version },
    instructions: async () => 'Manages Quartermaster: its tools, servers, skills, keys, documents, files and call log.',
    list: async (cursor) => pageOf(listOperations(context), (value) => new ToolListing(value), cursor),
    schemaOf: async () => undefined,
    skills: undefined,
    passed: undefined,
    call: (name, input, live, client = context.client) => callOperation(name, input, { ...context, client, live }),
  }
}
