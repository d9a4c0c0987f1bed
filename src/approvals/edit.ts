import type { Catalogue } from '../catalogue/catalogue.ts'
import { hidden } from '../credentials/redactor.ts'
import { faultsOf } from '../dispatch/validate.ts'
import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import type { Approval } from '../model/approval.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { definitionHash, sentInput } from './fingerprint.ts'
import { shownInput } from './sensitive.ts'

/**
 * Checks arguments edited by a reviewer, and returns them as they will run. Preset parameters stay preset. Values that were
 * hidden from the reviewer and left unchanged keep their original value. The result must be valid for the current
 * definition of the action.
 */
export async function checkEdited(edited: JsonObject, approval: Approval, catalogue: Catalogue): Promise<JsonObject> {
  const { id, tool_id, action, definition_hash, input, edited_input, secret_paths } = approval
  const entry = await catalogue.find(tool_id)
  const prepared = entry && [...entry.actions.values()].find((one) => one.action.id === action)
  if (!prepared || definitionHash(entry, prepared) !== definition_hash) {
    throw new PlatformError('APPROVAL_STALE', { action, approval_id: id })
  }
  const before = edited_input ?? input
  const whole = restored(edited, before, shownInput(before, secret_paths, 'reviewer').value) as JsonObject
  const own = sentInput(whole, prepared)
  const errors = [...(await faultsOf(prepared, { ...own, ...prepared.presets })), ...stillHidden(own, before)]
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
  return own
}

/** Restores hidden values wherever the reviewer left the placeholder in place. */
function restored(edited: Json, before: Json, shown: Json): Json {
  if (edited === shown) return before
  if (Array.isArray(edited) && Array.isArray(before) && Array.isArray(shown) && edited.length === shown.length) {
    return edited.map((one, index) => restored(one, before[index] as Json, shown[index] as Json))
  }
  if (!isObject(edited) || !isObject(before) || !isObject(shown)) return edited
  return Object.fromEntries(
    Object.entries(edited).map(([key, one]) => [
      key,
      Object.hasOwn(shown, key) ? restored(one, before[key] as Json, shown[key] as Json) : one,
    ]),
  )
}

/** The placeholder for hidden values must not be sent as a value. */
const stillHidden = (own: JsonObject, before: JsonObject): Fault[] =>
  JSON.stringify(own).includes(hidden) && !JSON.stringify(before).includes(hidden)
    ? [{ path: '', message: `"${hidden}" was moved: enter the value again, or leave it in its original place` }]
    : []
