import { evaluate } from '../../access/evaluate.ts'
import { appOf } from '../../catalogue/app.ts'
import type { ToolEntry } from '../../catalogue/catalogue.ts'
import type { NamedAction, ServerAction, ServerCatalogue } from '../../catalogue/server-catalogue.ts'
import { toolResource } from '../../dispatch/authorize.ts'
import { modeFilter } from '../../dispatch/mode.ts'
import { CallRecord } from '../../dispatch/record.ts'
import { recordAttempt } from '../../dispatch/rejected-call.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import type { Offers } from '../../mcp/client/offers.ts'
import type { UpstreamMethod } from '../../mcp/client/upstream.ts'
import type { Live } from '../../model/call.ts'
import { PlatformError } from '../../model/errors.ts'
import { newId } from '../../model/ids.ts'
import { Waiting } from '../../model/outcome.ts'
import type { Principal } from '../../model/principal.ts'
import type { Server } from '../../model/server.ts'
import type { Skill } from '../../model/skill.ts'
import { done, type Output } from '../../model/tool.ts'
import type { OperationDeps, RequestContext } from '../../operations/operation.ts'
import { findActions } from '../../operations/resolve.ts'
import { outputOf } from '../../operations/tools.ts'
import type { ActionMatches } from '../../search/resolver.ts'
import type { RecordedAnswer, RecordedInput } from '../../store/calls.ts'
import type { ResultDraft } from '../../store/results.ts'
import { newRun, settingsOf } from '../../workflows/runner.ts'
import { linkResult, waiting } from './approvals.ts'
import { connecting } from './connect.ts'
import { type ToolResult, textResult } from './results.ts'

export interface PassedServer {
  readonly entry: ToolEntry
  readonly offers: Offers
}

export interface CallOutput {
  readonly callId: string
  readonly output: Output
}

export const isOutput = (result: CallOutput | ToolResult): result is CallOutput => 'callId' in result

/** One caller on one server: what it can see, and how it calls actions. */
export class ServerRequest {
  readonly server: Server
  readonly #context: RequestContext
  readonly #deps: ServerRequestDeps

  constructor(server: Server, context: RequestContext, deps: ServerRequestDeps) {
    this.server = server
    this.#context = context
    this.#deps = deps
  }

  get principal(): Principal {
    return this.#context.principal
  }

  /** The same caller with the name that its client sends. */
  withClient(client: RequestContext['client']): ServerRequest {
    return new ServerRequest(this.server, { ...this.#context, client }, this.#deps)
  }

  /** Finds an action by name if the catalogue is cached. */
  peek(name: string): ServerAction | undefined {
    const found = this.#deps.serverCatalogues.peek(this.server)?.byName.get(name)
    return found && this.#may(found) ? found : undefined
  }

  async find(name: string): Promise<ServerAction | undefined> {
    const found = (await this.#catalogue()).byName.get(name)
    return found && this.#may(found) ? found : undefined
  }

  /** Finds an action that is blocked because its definition has not been accepted. */
  async findWithheld(name: string): Promise<ServerAction | undefined> {
    const found = (await this.#catalogue()).withheld.get(name)
    return found && this.#may(found) ? found : undefined
  }

  async withheld(): Promise<readonly ServerAction[]> {
    return [...(await this.#catalogue()).withheld.values()].filter(this.#judge())
  }

  /** All actions that the caller can use, with their names on this server. */
  async named(): Promise<readonly NamedAction[]> {
    const may = this.#judge()
    const inMode = await this.#inMode()
    return (await this.#catalogue()).named.filter(([, one]) => may(one) && (!inMode || inMode(one.action)))
  }

  async actions(): Promise<readonly ServerAction[]> {
    return (await this.#catalogue()).all.filter(this.#judge())
  }

  /** The same without waiting for upstream servers. The lists of some may be stale. */
  async recentActions(): Promise<readonly ServerAction[]> {
    return (await this.#deps.serverCatalogues.recent(this.server)).all.filter(this.#judge())
  }

  /** The matching actions for each request, best first. */
  resolve(requests: readonly string[], most: number): Promise<readonly ActionMatches[]> {
    return findActions(requests, most, this.server, { ...this.#deps, principal: this.principal })
  }

  /** The inputs of the caller's successful calls of these actions. */
  async sent(actions: readonly ServerAction[]): Promise<(one: ServerAction) => readonly RecordedInput[]> {
    const toolIds = [...new Set(actions.map(({ tool }) => tool.id))]
    const inputs = await this.#deps.store.calls.inputs(this.server.project_id, this.principal.id, toolIds)
    return ({ tool, action }) => {
      // Earlier inputs may contain a value that was preset, and therefore hidden, at that time.
      const since = Date.parse(tool.updated_at)
      return inputs.filter((one) => one.tool_id === tool.id && one.action === action.id && one.created_at > since)
    }
  }

  /** The latest responses to the caller, from any tool of the project. */
  answers(): Promise<readonly RecordedAnswer[]> {
    return this.#deps.store.calls.answers(this.server.project_id, this.principal.id)
  }

  /** Refreshes stale tool lists of MCP servers. A connecting client waits for that only briefly. */
  async refreshStale(): Promise<void> {
    const { store, catalogue } = this.#deps
    const { apps, project_id } = this.server
    const tools = await store.tools.names(project_id)
    const own = tools.filter((tool) => apps === null || apps.some(({ slug }) => slug === appOf(tool)))
    await catalogue.refreshStale(own.map(({ id }) => id))
  }

  skills(): Promise<readonly Skill[]> {
    return this.#deps.store.skills.offered(this.server.project_id, this.server.skill_ids)
  }

  /** Calls an action. Returns its output, or a result that says what the call waits for. */
  call(one: ServerAction, input: JsonObject, live: Live): Promise<CallOutput | ToolResult> {
    const { waits } = this.#deps.connections
    const waiter = { projectId: this.server.project_id, endUserId: this.principal.endUserId }
    return connecting(live, { waits, ...waiter }, (own) => this.#call(one, input, own))
  }

  async #call({ tool, action }: ServerAction, input: JsonObject, live: Live): Promise<CallOutput | ToolResult> {
    const id = newId('call')
    const { principal, surface, client, parentCallId, depth, gone, home } = this.#context
    const wait = waiting(live, this)
    const outcome = await this.#deps.dispatch({
      id,
      principal,
      surface,
      client,
      toolId: tool.id,
      action: action.name,
      input,
      parentCallId,
      depth,
      live: wait.live,
      onWait: wait.onWait,
      server: this.server,
      gone,
      home,
    })
    const output = outputOf(outcome, principal)
    return output instanceof Waiting ? linkResult(output.on, this) : { callId: id, output }
  }

  /**
   * The MCP servers whose prompts or resources the caller can use, with what they offer. Those that are unreachable or
   * need an account first are left out.
   */
  async passed(kind: 'prompts' | 'resources'): Promise<readonly PassedServer[]> {
    const { passed } = await this.#catalogue()
    const inMode = await this.#inMode()
    const method = kind === 'prompts' ? 'prompts/get' : 'resources/read'
    const isInMode = ({ methods }: ToolEntry) => {
      const action = methods.get(method)?.action
      return !inMode || (action !== undefined && inMode(action))
    }
    const entries = passed[kind].filter((entry) => this.#may(entry) && isInMode(entry))
    const { endUserId } = this.principal
    const found = await Promise.allSettled(
      entries.map(async (entry) => ({ entry, offers: await this.#deps.catalogue.offers(entry, endUserId) })),
    )
    return found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  }

  /** Uses a prompt or resource of an MCP server. It is a call like that of a tool. */
  async useMethod({ tool }: ToolEntry, method: UpstreamMethod, input: JsonObject, live: Live): Promise<JsonObject> {
    const { principal, surface, client, parentCallId, depth, gone, home } = this.#context
    const request = { id: newId('call'), principal, surface, client, toolId: tool.id, action: method, isMethod: true }
    const outcome = await this.#deps.dispatch({
      ...request,
      ...{ input, parentCallId, depth, live, server: this.server, gone, home, onWait: 'block' },
    })
    const output = outputOf(outcome, principal)
    if (output instanceof Waiting) throw new Error('a call that blocks does not return before it has ended')
    return output.value as JsonObject
  }

  /** Calls the listener when a resource of an MCP server changes, until the returned function is called. */
  async watch(entry: ToolEntry, uri: string, listener: () => void): Promise<() => void> {
    let stop = () => {}
    await this.internal('SUBSCRIBE_RESOURCE', { app: appOf(entry.tool), uri }, async () => {
      stop = await this.#deps.catalogue.watch(entry, this.principal.endUserId, uri, listener)
      return textResult('Subscribed.')
    })
    return stop
  }

  /** The page on which a person decides on an approval, if its address is known. */
  linkToApproval(id: string): string | undefined {
    return this.#deps.linkToApproval(id, this.#context.home)
  }

  /** Starts a program. Its calls are tied to the call that sent it. */
  async startCode(code: string, callId: string): Promise<string> {
    const starter = { ...this.#context, callId }
    const run = await this.#deps.workflows.start({
      ...newRun({ ...starter, projectId: this.server.project_id }),
      ...{ kind: 'code', tool_id: null, name: 'EXECUTE_CODE', input: {} },
      settings: { ...settingsOf({ ...starter, onWait: 'block' }), definition: { code, server_id: this.server.id } },
    })
    return run.id
  }

  /** The id of a program that this caller has started on this server. */
  async findCode(id: string): Promise<string> {
    const run = await this.#deps.store.workflowRuns.find(id)
    const isOwn = run?.started_by.id === this.principal.id && run.settings.definition.server_id === this.server.id
    if (!isOwn) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'run', id })
    return id
  }

  codeOutcome(id: string, signal: AbortSignal): Promise<Output | Waiting> {
    return this.#deps.workflows.outcome(id, { signal, resumes: false })
  }

  cancelCode(id: string): Promise<unknown> {
    return this.#deps.workflows.cancel(id)
  }

  /** Stores a large result for this caller on this server. */
  keepResult(callId: string, whole: Pick<ResultDraft, 'text' | 'bytes' | 'characters'>): Promise<string> {
    return this.#deps.store.results.keep({ ...this.#owner, projectId: this.server.project_id, callId, ...whole })
  }

  readResult(
    id: string,
    range: { offset: number; length: number },
  ): Promise<{ characters: number; part: string } | undefined> {
    return this.#deps.store.results.read(id, this.#owner, range)
  }

  /** Runs a built-in tool, and records it as a call. */
  async internal(
    name: string,
    input: JsonObject,
    answer: (callId: string) => Promise<ToolResult>,
  ): Promise<ToolResult> {
    const request = { ...this.#context, id: newId('call'), toolId: '', action: undefined, input, server: this.server }
    const record = new CallRecord(this.#deps.store.calls, request)
    record.internal(this.server.project_id, name)
    try {
      const result = await answer(request.id)
      await record.answered(done(result))
      return result
    } catch (error) {
      await record.fail(error)
      throw error
    }
  }

  /** Records a call that was refused before it reached a tool. */
  async refused(target: ServerAction | string, input: Json, error: PlatformError): Promise<void> {
    const { server } = this
    const attempt = { ...this.#context, id: newId('call'), server, projectId: server.project_id, target, input }
    await recordAttempt(this.#deps.store.calls, attempt, error)
  }

  get #owner(): { principalId: string; serverId: string } {
    return { principalId: this.principal.id, serverId: this.server.id }
  }

  #catalogue(): Promise<ServerCatalogue> {
    return this.#deps.serverCatalogues.of(this.server)
  }

  #inMode() {
    return modeFilter(this.principal, this.server, this.#deps.store.modes)
  }

  #may({ tool }: Pick<ServerAction, 'tool'>): boolean {
    return evaluate(this.principal, 'tools:CallTool', toolResource(tool)).allowed
  }

  /** Checks access once per tool, for loops over many actions. */
  #judge(): (one: ServerAction) => boolean {
    const decided = new Map<string, boolean>()
    return (one) => {
      let allowed = decided.get(one.tool.id)
      if (allowed === undefined) {
        allowed = this.#may(one)
        decided.set(one.tool.id, allowed)
      }
      return allowed
    }
  }
}

export type ServerRequestDeps = Pick<
  OperationDeps,
  'dispatch' | 'store' | 'connections' | 'catalogue' | 'serverCatalogues' | 'resolver' | 'linkToApproval' | 'workflows'
>
