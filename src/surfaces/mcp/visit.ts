import { evaluate } from '../../access/evaluate.ts'
import { nameOfApp } from '../../catalogue/missing.ts'
import type { Named, Shelf, Shelved } from '../../catalogue/shelf.ts'
import { recordAttempt } from '../../dispatch/attempt.ts'
import { toolResource } from '../../dispatch/authorize.ts'
import { CallRecord } from '../../dispatch/record.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import type { PlatformError } from '../../model/errors.ts'
import { newId } from '../../model/ids.ts'
import { Waiting } from '../../model/outcome.ts'
import type { Principal } from '../../model/principal.ts'
import type { Server } from '../../model/server.ts'
import type { Skill } from '../../model/skill.ts'
import { done, type Output } from '../../model/tool.ts'
import type { Parts, Request } from '../../operations/operation.ts'
import { findActions } from '../../operations/resolve.ts'
import { call } from '../../operations/tools.ts'
import type { Found } from '../../search/resolver.ts'
import type { RecordedAnswer, RecordedInput } from '../../store/calls.ts'
import type { ResultDraft } from '../../store/results.ts'
import { linkResult, waiting } from './approvals.ts'
import type { ToolResult } from './results.ts'

/** What a call answered, and which call it was. */
export interface Answered {
  readonly callId: string
  readonly output: Output
}

/** Whether a call answered, and does not wait. */
export const isAnswered = (result: Answered | ToolResult): result is Answered => 'callId' in result

/** One caller at one server: what it may see there, and the way to the door. */
export class Visit {
  readonly server: Server
  readonly #asking: Request
  readonly #parts: VisitParts

  constructor(server: Server, asking: Request, parts: VisitParts) {
    this.server = server
    this.#asking = asking
    this.#parts = parts
  }

  get principal(): Principal {
    return this.#asking.principal
  }

  /** The same caller, with the name that its program gives itself. */
  by(client: Request['client']): Visit {
    return new Visit(this.server, { ...this.#asking, client }, this.#parts)
  }

  /** What the caller may call by this name of the server's tool, where that is known; what is not is found. */
  known(name: string): Shelved | undefined {
    const found = this.#parts.shelves.known(this.server)?.byName.get(name)
    return found && this.#may(found) ? found : undefined
  }

  async find(name: string): Promise<Shelved | undefined> {
    const found = (await this.#shelf()).byName.get(name)
    return found && this.#may(found) ? found : undefined
  }

  /** By its name, what the caller may call but for its definition, which nobody has accepted. */
  async findWithheld(name: string): Promise<Shelved | undefined> {
    const found = (await this.#shelf()).withheld.get(name)
    return found && this.#may(found) ? found : undefined
  }

  async withheld(): Promise<readonly Shelved[]> {
    return [...(await this.#shelf()).withheld.values()].filter(this.#judge())
  }

  /** All that the caller may call, with the names of the server's tools. */
  async named(): Promise<readonly Named[]> {
    const may = this.#judge()
    return (await this.#shelf()).named.filter(([, one]) => may(one))
  }

  async shelved(): Promise<readonly Shelved[]> {
    return (await this.#shelf()).all.filter(this.#judge())
  }

  /** For each request in words the actions that may be meant, best first. */
  resolve(requests: readonly string[], most: number): Promise<readonly (readonly Found[])[]> {
    return findActions(requests, most, this.server, { ...this.#parts, principal: this.principal })
  }

  /** What the caller has sent to these before, with success. */
  async sent(shelved: readonly Shelved[]): Promise<(one: Shelved) => readonly RecordedInput[]> {
    const toolIds = [...new Set(shelved.map(({ tool }) => tool.id))]
    const inputs = await this.#parts.store.calls.inputs(this.server.project_id, this.principal.id, toolIds)
    return ({ tool, action }) => {
      // What was sent before may hold a value that was preset then, and hidden.
      const since = Date.parse(tool.updated_at)
      return inputs.filter((one) => one.tool_id === tool.id && one.action === action.id && one.created_at > since)
    }
  }

  /** What the caller was answered of late, by any of the project's tools. */
  answers(): Promise<readonly RecordedAnswer[]> {
    return this.#parts.store.calls.answers(this.server.project_id, this.principal.id)
  }

  /** Has lists of MCP servers that are not of late asked for again; a client that connects waits for that only shortly. */
  async renew(): Promise<void> {
    const { store, catalogue } = this.#parts
    const { apps, project_id } = this.server
    const tools = await store.tools.names(project_id)
    const own = tools.filter((tool) => apps === null || apps.some(({ slug }) => slug === nameOfApp(tool)))
    await catalogue.renew(own.map(({ id }) => id))
  }

  skills(): Promise<readonly Skill[]> {
    return this.#parts.store.skills.offered(this.server.project_id, this.server.skill_ids)
  }

  /** What the call answered; or a result that says what it waits for. */
  async call({ tool, action }: Shelved, input: JsonObject, live: Live): Promise<Answered | ToolResult> {
    const callId = newId('call')
    const { dispatch } = this.#parts
    const context = { ...this.#asking, ...waiting(live, this.linkToApproval), server: this.server, dispatch }
    const output = await call(tool.id, action.name, input, context, callId)
    return output instanceof Waiting ? linkResult(output.on, this.linkToApproval) : { callId, output }
  }

  /** Where a person decides on an approval, as far as anyone knows. */
  readonly linkToApproval = (id: string): string | undefined => this.#parts.linkToApproval(id, this.#asking.home)

  /** Keeps a large result of this caller at this server. */
  keepResult(callId: string, whole: Pick<ResultDraft, 'text' | 'bytes' | 'characters'>): Promise<string> {
    return this.#parts.store.results.keep({ ...this.#owner, projectId: this.server.project_id, callId, ...whole })
  }

  readResult(
    id: string,
    range: { offset: number; length: number },
  ): Promise<{ characters: number; part: string } | undefined> {
    return this.#parts.store.results.read(id, this.#owner, range)
  }

  /** Answers without a tool, and records that too. */
  async aside(name: string, input: JsonObject, answer: () => Promise<ToolResult>): Promise<ToolResult> {
    const asked = { ...this.#asking, id: newId('call'), toolId: '', action: undefined, input, server: this.server }
    const record = new CallRecord(this.#parts.store.calls, asked)
    record.aside(this.server.project_id, name)
    try {
      const result = await answer()
      await record.answered(done(result))
      return result
    } catch (error) {
      await record.fail(error)
      throw error
    }
  }

  /** Records a call that was refused before it reached a tool. */
  async refused(target: Shelved | string, input: Json, error: PlatformError): Promise<void> {
    const { server } = this
    const attempt = { ...this.#asking, id: newId('call'), server, projectId: server.project_id, target, input }
    await recordAttempt(this.#parts.store.calls, attempt, error)
  }

  get #owner(): { principalId: string; serverId: string } {
    return { principalId: this.principal.id, serverId: this.server.id }
  }

  #shelf(): Promise<Shelf> {
    return this.#parts.shelves.of(this.server)
  }

  #may({ tool }: Shelved): boolean {
    return evaluate(this.principal, 'tools:CallTool', toolResource(tool)).allowed
  }

  /** Decides on each tool once, for those who look at all that it offers. */
  #judge(): (one: Shelved) => boolean {
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

export type VisitParts = Pick<Parts, 'dispatch' | 'store' | 'catalogue' | 'shelves' | 'resolver' | 'linkToApproval'>
