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

export const DefinitionChange = z.object({
  name: z.string().describe('The action’s name within its tool'),
  accepted: Definition.describe('The accepted definition; null if it was not stored'),
  current: Definition.describe('The current definition; null if it is too long to store'),
  hash: z.string().describe('Hash of the current definition; send it to accept exactly what you reviewed'),
  changed_at: z.iso.datetime(),
})

export const listDefinitionChanges = acts({
  name: 'list-definition-changes',
  permission: 'tools:ListDefinitionChanges',
  route: 'GET /tools/{tool_id}/definition-changes',
  summary: 'List the actions of a tool whose definition changed, with the accepted and the current one',
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
  summary: 'Accept the current definitions of an MCP server’s actions',
  example: {},
  on: tool,
  input: z.strictObject({
    id: Id,
    names: z.array(ActionName).min(1).max(5000).optional().describe('The actions to accept; defaults to all'),
    hashes: z
      .record(ActionName, z.string().max(100))
      .optional()
      .describe(
        'The actions to accept, each with the hash of the definition you reviewed; refused if one has changed since',
      ),
  }),
  output: z.object({ accepted: z.int() }),
  async run({ id, names, hashes }, { store }) {
    if (names && hashes) {
      const message = 'give names or hashes, not both'
      throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'hashes', message }] })
    }
    if (names) await requireKnown(id, names, store.definitions)
    const accepted = hashes
      ? await acceptRead(id, hashes, store.definitions)
      : await store.definitions.accept(id, names)
    await store.changes.publish('tools', [id])
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

/**
 * Accepts all of the given definitions, or none if one has changed. A definition that changes during this loop stays
 * blocked.
 */
async function acceptRead(id: string, hashes: Record<string, string>, definitions: Definitions): Promise<number> {
  const known = await definitions.of(id)
  const read = Object.entries(hashes)
  const changed = read.flatMap(([name, hash]) => (known.get(name)?.current_hash === hash ? [] : [name]))
  if (changed.length > 0) throw new PlatformError('DEFINITION_CHANGED', { tool_id: id, names: changed })
  let accepted = 0
  for (const [name, hash] of read) if (await definitions.acceptRead(id, name, hash)) accepted++
  return accepted
}
