import { z } from 'zod'
import type { JsonObject } from '../lib/json.ts'
import { didYouMean } from '../lib/nearest.ts'
import { PlatformError } from '../model/errors.ts'
import { Id, iso, Paging, pageOf } from '../model/page.ts'
import type { Definitions } from '../store/definitions.ts'
import { acts } from './operation.ts'
import { tool } from './tools.ts'

const Definition = z.custom<JsonObject>().meta({ type: 'object' }).nullable()
const ActionName = z.string().min(1).max(500)

const DefinitionChange = z.object({
  name: z.string().describe('The action’s name within its tool'),
  accepted: Definition.describe('How it was described when it was accepted; null where that was not kept'),
  current: Definition.describe('How it is described now; null where that is too long to be kept'),
  hash: z.string().describe('Of the current one, to accept what you have read and nothing else'),
  changed_at: z.iso.datetime(),
})

export const listDefinitionChanges = acts({
  name: 'list-definition-changes',
  permission: 'tools:ListDefinitionChanges',
  route: 'GET /tools/{tool_id}/definition-changes',
  summary: 'List the actions of a tool that are described otherwise than was accepted, with both descriptions',
  on: tool,
  input: z.strictObject({ id: Id, ...Paging }),
  output: pageOf(DefinitionChange),
  async run({ id, limit, offset }, { store }) {
    const page = await store.definitions.changed(id, { limit, offset })
    const data = page.data.map(({ name, accepted, current, current_hash: hash, changed_at }) => ({
      name,
      accepted: accepted && JSON.parse(accepted),
      current: current && JSON.parse(current),
      hash,
      changed_at: iso(changed_at),
    }))
    return { ...page, data }
  },
})

export const acceptDefinitions = acts({
  name: 'accept-definitions',
  permission: 'tools:AcceptDefinitions',
  route: 'POST /tools/{tool_id}/accept-definitions',
  summary: 'Accept how the actions of an MCP server are described now',
  example: {},
  on: tool,
  input: z.strictObject({
    id: Id,
    names: z.array(ActionName).min(1).max(5000).optional().describe('Which actions; all of them unless given'),
    hashes: z
      .record(ActionName, z.string().max(100))
      .optional()
      .describe(
        'Which actions, each with the hash of the definition that you have read: one that has changed since is refused',
      ),
  }),
  output: z.object({ accepted: z.int() }),
  async run({ id, names, hashes }, { store }) {
    if (names && hashes) {
      const message = 'give names, or hashes, and not both'
      throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'hashes', message }] })
    }
    if (names) await requireKnown(id, names, store.definitions)
    const accepted = hashes
      ? await acceptRead(id, hashes, store.definitions)
      : await store.definitions.accept(id, names)
    await store.notices.tell('tools', [id])
    return { accepted }
  },
})

async function requireKnown(id: string, names: readonly string[], definitions: Definitions): Promise<void> {
  const known = [...(await definitions.of(id)).keys()]
  const errors = names.flatMap((name, at) =>
    known.includes(name)
      ? []
      : [{ path: `names.${at}`, message: `the tool has no action "${name}".${didYouMean(name, known)}` }],
  )
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
}

/** All that was read, or nothing where some of it has changed since; what changes meanwhile stays withheld in any case. */
async function acceptRead(id: string, hashes: Record<string, string>, definitions: Definitions): Promise<number> {
  const known = await definitions.of(id)
  const read = Object.entries(hashes)
  const changed = read.flatMap(([name, hash]) => (known.get(name)?.current_hash === hash ? [] : [name]))
  if (changed.length > 0) throw new PlatformError('DEFINITION_CHANGED', { tool_id: id, names: changed })
  let accepted = 0
  for (const [name, hash] of read) if (await definitions.acceptRead(id, name, hash)) accepted++
  return accepted
}
