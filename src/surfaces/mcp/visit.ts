import { evaluate } from '../../access/evaluate.ts'
import type { Shelf, Shelved, Shelves } from '../../catalogue/shelf.ts'
import { toolResource } from '../../dispatch/authorize.ts'
import type { Live } from '../../model/call.ts'
import type { JsonObject } from '../../model/json.ts'
import type { Principal } from '../../model/principal.ts'
import type { Server } from '../../model/server.ts'
import type { Skill } from '../../model/skill.ts'
import type { Output } from '../../model/tool.ts'
import type { Parts, Request } from '../../operations/operation.ts'
import { call } from '../../operations/tools.ts'

/** One caller at one server: what it may see there, and the way to the door. */
export interface Visit {
  readonly server: Server
  readonly principal: Principal
  /** What the caller may call, by the names of the server's tools. */
  named(): Promise<ReadonlyMap<string, Shelved>>
  shelved(): Promise<readonly Shelved[]>
  skills(): Promise<readonly Skill[]>
  call(shelved: Shelved, input: JsonObject, live: Live): Promise<Output>
}

export function visit(
  server: Server,
  asking: Request,
  parts: Pick<Parts, 'dispatch' | 'store'> & { readonly shelves: Shelves },
): Visit {
  const { principal } = asking
  const may = ({ tool }: Shelved) => evaluate(principal, 'tools:CallTool', toolResource(tool)).allowed
  const shelf = (): Promise<Shelf> => parts.shelves.of(server)
  return {
    server,
    principal,
    named: async () => new Map([...(await shelf()).byName].filter(([, one]) => may(one))),
    shelved: async () => (await shelf()).all.filter(may),
    skills: () => parts.store.skills.offered(server.project_id, server.skill_ids),
    call: ({ tool, action }, input, live) =>
      call(tool.id, action.name, input, { ...asking, live, dispatch: parts.dispatch }),
  }
}
