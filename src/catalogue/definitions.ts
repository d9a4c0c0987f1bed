import { canonical, hashOfText } from '../lib/canonical.ts'
import { firstBytes } from '../lib/characters.ts'
import { newId } from '../model/ids.ts'
import type { SeenDefinition } from '../store/definitions.ts'
import type { Store } from '../store/store.ts'
import type { ToolRecord } from '../store/tools.ts'
import type { ActionDefinition } from '../tools/tool-type.ts'

/**
 * Detects when an upstream server changes the definition of an action under the same name, which could turn an approved
 * tool into a different one. Records the change. If the tool pins definitions, the action is withheld until the new
 * definition is accepted. Returns the names of withheld actions.
 */
export async function watchDefinitions(
  tool: ToolRecord,
  sketches: readonly ActionDefinition[],
  store: Store,
): Promise<Set<string>> {
  const known = await store.definitions.of(tool.id)
  const withheld = new Set<string>()
  const first: { name: string; hash: string; text: string | null }[] = []
  for (const [index, { name, definition }] of sketches.entries()) {
    // Thousands of definitions take a while, so yield to other requests.
    if (index % 200 === 199) await nextRound()
    if (!definition) continue
    const text = canonical(definition)
    const hash = hashOfText(text)
    const seen = { hash, text: text.length > longestKept ? null : text }
    const before = known.get(name)
    const isUnkept = before && !before.isKept && before.accepted_hash === hash && seen.text !== null
    if (!before || isUnkept) first.push({ name, ...seen })
    if (before && before.current_hash !== hash && (await isNewDefinition(tool, name, seen, store))) {
      await recordChange(tool, name, { before: before.current_hash, after: hash, text }, store)
    }
    if (tool.pin_definitions && before && before.accepted_hash !== hash) withheld.add(name)
  }
  await store.definitions.meet(tool.id, first)
  return withheld
}

/** Only the hash is stored for longer definitions. */
const longestKept = 262_144

const isNewDefinition = (tool: ToolRecord, name: string, seen: SeenDefinition, { definitions }: Store) =>
  definitions.see(tool.id, name, seen, tool.pin_definitions ? 'later' : 'at once')

/** The same limit as for responses in call records, in bytes. */
const maxRecorded = 65_536

const nextRound = () => new Promise(setImmediate)

/** Recorded among the calls, because that is where people look when a tool behaves differently. */
async function recordChange(
  tool: ToolRecord,
  name: string,
  change: { before: string; after: string; text: string },
  store: Store,
) {
  const now = Date.now()
  const response = firstBytes(change.text, maxRecorded)
  await store.calls.refuse({
    id: newId('call', now),
    project_id: tool.project_id,
    parent_call_id: null,
    generation_id: null,
    agent_id: null,
    tool_id: tool.id,
    tool: tool.name,
    app: 'quartermaster',
    action: 'quartermaster:DEFINITION_CHANGED',
    status: 'success',
    principal_kind: 'upstream',
    principal_id: tool.id,
    principal_name: tool.name,
    surface: 'mcp',
    server_id: null,
    client_name: null,
    client_version: null,
    request: JSON.stringify({ name, before: change.before, after: change.after }),
    request_truncated: 0,
    preset_keys: null,
    response,
    response_truncated: response.length < change.text.length ? 1 : 0,
    error: null,
    duration_ms: 0,
    waited_ms: null,
    mode: null,
    created_at: now,
    completed_at: now,
  })
}
