import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Guide } from '../../model/guide.ts'
import { textOf } from '../../model/message.ts'
import type { Run } from '../../store/generations.ts'
import type { Journal, JournalCall } from '../../store/journal.ts'
import type { SessionRecord } from '../../store/sessions.ts'
import type { Store } from '../../store/store.ts'
import { resultOf } from '../sessions/turn-events.ts'
import { fetchedIn, valuesOf } from './variables.ts'
import type { WhenFacts } from './when.ts'

/** A call with the canonical id of its tool. */
export interface NamedCall {
  readonly call: JournalCall
  readonly toolId: string
}

const maxToolEvents = 1000

/** What `when` expressions refer to. Earlier results of tools are read only if there are expressions. */
export async function factsOf(
  { id, end_user_id, metadata, state }: SessionRecord,
  guide: Guide,
  { run, calls, journal }: { readonly run: Run; readonly calls: readonly NamedCall[]; readonly journal: Journal },
  store: Store,
): Promise<WhenFacts> {
  const variables = {
    ...(isObject(metadata.variables) ? metadata.variables : {}),
    ...valuesOf({ ...state.variables, ...fetchedIn(journal) }),
  }
  const steps = isObject(metadata.step_outputs) ? metadata.step_outputs : {}
  const said = run.input.findLast(({ role }) => role === 'user')
  // The same events that the model sees: those before the turn.
  const before = run.settings.turn?.before ?? 0
  const filter = { min_offset: 0, before, kinds: ['tool'] as const, limit: maxToolEvents }
  const earlier = usesWhen(guide) ? await store.sessions.events(id, filter) : []
  const tools = Object.fromEntries([
    ...earlier.map(({ tool_id = '', result = null, arguments: args = {}, is_error = false }) => [
      tool_id,
      { ok: !is_error, result, arguments: args },
    ]),
    ...calls
      .filter(({ call }) => call.output !== undefined)
      .map(({ call, toolId }) => [
        toolId,
        { ok: !call.is_error, result: resultOf(call), arguments: argumentsOf(call) },
      ]),
  ])
  return {
    session: { id, end_user_id, metadata, variables },
    steps: steps as JsonObject,
    tools,
    message: said?.role === 'user' ? textOf(said.content) : '',
  }
}

const usesWhen = ({ policies, routines, variables, canned_replies }: Guide): boolean =>
  variables.length + canned_replies.length > 0 ||
  policies.some(({ when }) => when !== null) ||
  routines.some(
    ({ when, nodes }) => when !== null || nodes.some(({ transitions }) => transitions.some((one) => one.when !== null)),
  )

export function argumentsOf({ args }: JournalCall): JsonObject {
  try {
    const value: unknown = JSON.parse(args)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
