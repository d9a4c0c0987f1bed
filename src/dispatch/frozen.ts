import type { Entry, Offer } from '../catalogue/catalogue.ts'
import { unaliased } from '../catalogue/presets.ts'
import { hashOf } from '../model/canonical.ts'
import type { Json, JsonObject } from '../model/json.ts'
import type { Valid } from './call.ts'

/** What the caller itself sent: without what is fixed, under each field's own name. */
export function sentInput(input: JsonObject, { action, presets }: Offer): JsonObject {
  const own = unaliased(input, action)
  return Object.fromEntries(Object.entries(own).filter(([key]) => !Object.hasOwn(presets, key)))
}

const known = new WeakMap<Offer, string>()

/**
 * Of what the call would do, whatever its input: how it is described, what is fixed, where it goes. Not of how we prove
 * who we are there, for keys are changed while people think.
 */
export function definitionHash({ tool }: Entry, offer: Offer): string {
  let hash = known.get(offer)
  if (hash === undefined) {
    const { id, description, schema, definition = null } = offer.action
    const { url, command, args } = tool.mcp ?? {}
    const where = { type: tool.type, execute: tool.execute && { ...tool.execute, headers: null }, url, command, args }
    hash = hashOf(plain({ id, description, schema, definition, presets: offer.presets, where }))
    known.set(offer, hash)
  }
  return hash
}

/** As JSON has it: what is left out is not there. */
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value))

/**
 * The same for the same call of the same caller, so that who has given up and calls again finds what was asked before.
 * Within a run of an agent each call is its own, and so is each call that one of them makes.
 */
export const repeatHash = (call: Valid, input: JsonObject): string => {
  const { principal, entry, offer, generation, parentCallId, id, lent } = call
  const within = generation ? [generation.id, lent ? id : (parentCallId ?? id)] : null
  return hashOf([principal.id, entry.tool.id, offer.action.id, input, within])
}
