import type { Catalogue } from '../catalogue/catalogue.ts'
import { hidden } from '../credentials/redactor.ts'
import { faultsOf } from '../dispatch/validate.ts'
import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import type { Approval } from '../model/approval.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { definitionHash, sentInput } from './frozen.ts'
import { shownInput } from './sensitive.ts'

/**
 * The arguments that a reviewer wants instead, as they will run: what is fixed on the tool stays fixed, what was hidden
 * from the reviewer and left so stays as it was, and all of it must fit the action as it is now.
 */
export async function checkEdited(edited: JsonObject, approval: Approval, catalogue: Catalogue): Promise<JsonObject> {
  const { id, tool_id, action, definition_hash, input, edited_input, secret_paths } = approval
  const entry = await catalogue.find(tool_id)
  const offer = entry && [...entry.offers.values()].find((one) => one.action.id === action)
  if (!offer || definitionHash(entry, offer) !== definition_hash) {
    throw new PlatformError('APPROVAL_STALE', { action, approval_id: id })
  }
  const before = edited_input ?? input
  const whole = restored(edited, before, shownInput(before, secret_paths, 'reviewer').value) as JsonObject
  const own = sentInput(whole, offer)
  const errors = [...(await faultsOf(offer, { ...own, ...offer.presets })), ...stillHidden(own, before)]
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
  return own
}

/** Puts back what was hidden, wherever the reviewer has left it as it was shown. */
function restored(edited: Json, before: Json, shown: Json): Json {
  if (edited === shown) return before
  if (Array.isArray(edited) && Array.isArray(before) && Array.isArray(shown) && edited.length === shown.length) {
    return edited.map((one, index) => restored(one, before[index] as Json, shown[index] as Json))
  }
  if (!isObject(edited) || !isObject(before) || !isObject(shown)) return edited
  return Object.fromEntries(
    Object.entries(edited as JsonObject).map(([key, one]) => [
      key,
      Object.hasOwn(shown, key) ? restored(one, before[key] as Json, shown[key] as Json) : one,
    ]),
  )
}

/** What stands for something hidden is no value itself. */
const stillHidden = (own: JsonObject, before: JsonObject): Fault[] =>
  JSON.stringify(own).includes(hidden) && !JSON.stringify(before).includes(hidden)
    ? [{ path: '', message: `"${hidden}" was moved: write the value anew, or leave it where it was` }]
    : []
