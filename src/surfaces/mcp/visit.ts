import { evaluate } from '../../access/evaluate.ts'
import type { Found } from '../../catalogue/resolve/resolver.ts'
import type { Named, Shelf, Shelved } from '../../catalogue/shelf.ts'
import { toolResource } from '../../dispatch/authorize.ts'
import { CallRecord } from '../../dispatch/record.ts'
import type { Live } from '../../model/call.ts'
import { newId } from '../../model/ids.ts'
import type { JsonObject } from '../../model/json.ts'
import type { Principal } from '../../model/principal.ts'
import type { Server } from '../../model/server.ts'
import type { Skill } from '../../model/skill.ts'
import { done, type Output } from '../../model/tool.ts'
import type { Parts, Request } from '../../operations/operation.ts'
import { findActions } from '../../operations/resolve.ts'
import { call } from '../../operations/tools.ts'
import type { RecordedAnswer, RecordedInput } from '../../store/calls.ts'
import type { ResultDraft } from '../../store/results.ts'
import type { Store } from '../../store/store.ts'
import { waiting } from './approvals.ts'
import type { ToolResult } from './results.ts'

/** What a call answered, and which call it was. */
export interface Answered {
  readonly callId: string
  readonly output: Output
}

/** One caller at one server: what it may see there, and the way to the door. */
export interface Visit {
  readonly server: Server
  readonly principal: Principal
  /** What the caller may call: by the name of the server's tool, and all of it. */
  find(name: string): Promise<Shelved | undefined>
  named(): Promise<readonly Named[]>
  shelved(): Promise<readonly Shelved[]>
  /** For each request in words the actions that may be meant, best first. */
  resolve(requests: readonly string[], most: number): Promise<readonly (readonly Found[])[]>
  /** What the caller has sent to these before, with success. */
  sent(shelved: readonly Shelved[]): Promise<(one: Shelved) => readonly RecordedInput[]>
  /** What the caller was answered of late, by any of the project's tools. */
  answers(): Promise<readonly RecordedAnswer[]>
  skills(): Promise<readonly Skill[]>
  call(shelved: Shelved, input: JsonObject, live: Live): Promise<Answered>
  /** Where a person decides on an approval, as far as anyone knows. */
  linkToApproval(id: string): string | undefined
  /** The large results of this caller at this server. */
  readonly results: KeptResults
  /** Answers without a tool, and records that too. */
  aside(name: string, input: JsonObject, answer: () => Promise<ToolResult>): Promise<ToolResult>
}

export interface KeptResults {
  keep(callId: string, whole: Pick<ResultDraft, 'text' | 'bytes' | 'characters'>): Promise<string>
  read(id: string, range: { offset: number; length: number }): Promise<{ characters: number; part: string } | undefined>
}

export function visit(
  server: Server,
  asking: Request,
  parts: Pick<Parts, 'dispatch' | 'store' | 'shelves' | 'resolver' | 'linkToApproval'>,
): Visit {
  const { principal } = asking
  const decided = new Map<string, boolean>()
  const may = ({ tool }: Shelved): boolean => {
    let allowed = decided.get(tool.id)
    if (allowed === undefined) {
      allowed = evaluate(principal, 'tools:CallTool', toolResource(tool)).allowed
      decided.set(tool.id, allowed)
    }
    return allowed
  }
  const shelf = (): Promise<Shelf> => parts.shelves.of(server)
  const linkToApproval = (id: string) => parts.linkToApproval(id, asking.home)
  return {
    server,
    principal,
    async find(name) {
      const found = (await shelf()).byName.get(name)
      return found && may(found) ? found : undefined
    },
    named: async () => (await shelf()).named.filter(([, one]) => may(one)),
    shelved: async () => (await shelf()).all.filter(may),
    resolve: (requests, most) => findActions(requests, most, server, { ...parts, principal }),
    async sent(shelved) {
      const toolIds = [...new Set(shelved.map(({ tool }) => tool.id))]
      const inputs = await parts.store.calls.inputs(server.project_id, principal.id, toolIds)
      return ({ tool, action }) => {
        // What was sent before may hold a value that was preset then, and hidden.
        const since = Date.parse(tool.updated_at)
        return inputs.filter((one) => one.tool_id === tool.id && one.action === action.id && one.created_at > since)
      }
    },
    answers: () => parts.store.calls.answers(server.project_id, principal.id),
    skills: () => parts.store.skills.offered(server.project_id, server.skill_ids),
    async aside(name, input, answer) {
      const asked = { ...asking, id: newId('call'), toolId: '', action: undefined, input }
      const record = new CallRecord(parts.store.calls, asked)
      record.aside(server.project_id, name)
      try {
        const result = await answer()
        await record.answered(done(result))
        return result
      } catch (error) {
        await record.fail(error)
        throw error
      }
    },
    async call({ tool, action }, input, live) {
      const callId = newId('call')
      const context = { ...asking, ...waiting(live, linkToApproval), server, dispatch: parts.dispatch }
      return { callId, output: await call(tool.id, action.name, input, context, callId) }
    },
    linkToApproval,
    results: resultsOf(server, principal, parts.store),
  }
}

function resultsOf(server: Server, principal: Principal, { results }: Store): KeptResults {
  const owner = { principalId: principal.id, serverId: server.id }
  return {
    keep: (callId, whole) => results.keep({ ...owner, projectId: server.project_id, callId, ...whole }),
    read: (id, range) => results.read(id, owner, range),
  }
}
