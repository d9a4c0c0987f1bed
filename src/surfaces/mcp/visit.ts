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
import type { ToolResult } from './results.ts'

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
  skills(): Promise<readonly Skill[]>
  call(shelved: Shelved, input: JsonObject, live: Live): Promise<Output>
  /** Answers without a tool, and records that too. */
  aside(name: string, input: JsonObject, answer: () => Promise<ToolResult>): Promise<ToolResult>
}

export function visit(
  server: Server,
  asking: Request,
  parts: Pick<Parts, 'dispatch' | 'store' | 'shelves' | 'resolver'>,
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
    call: ({ tool, action }, input, live) =>
      call(tool.id, action.name, input, { ...asking, live, dispatch: parts.dispatch }),
  }
}
