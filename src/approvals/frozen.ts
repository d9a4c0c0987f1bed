import type { Entry, Offer } from '../catalogue/catalogue.ts'
import { unaliased } from '../catalogue/presets.ts'
import { withoutCredentials } from '../credentials/names.ts'
import type { Valid } from '../dispatch/call.ts'
import { hashOf } from '../lib/canonical.ts'
import type { Json, JsonObject } from '../lib/json.ts'

/** What the caller itself sent: without what is fixed, under each field's own name. */
export function sentInput(input: JsonObject, { action, presets }: Offer): JsonObject {
  const own = unaliased(input, action)
  return Object.fromEntries(Object.entries(own).filter(([key]) => !Object.hasOwn(presets, key)))
}

const known = new WeakMap<Offer, string>()

/**
 * Fields of a tool that do not change what a call does: they say when a person is asked and how long things may take.
 * Every other field is part of the definition, including those that are added later.
 */
const notDefinition = [
  ...(['created_at', 'updated_at', 'timeout_seconds', 'approval_timeout_seconds'] as const),
  ...(['auto_approve', 'ask_destructive', 'pin_definitions'] as const),
]

/**
 * Identifies what a call would do, whatever its input: the whole definition of the tool and of the action. Only the
 * value of a credential is left out, because credentials are rotated while people decide.
 */
export function definitionHash({ tool }: Entry, offer: Offer): string {
  let hash = known.get(offer)
  if (hash === undefined) {
    const { id, description, schema, definition = null } = offer.action
    const rest = Object.fromEntries(
      Object.entries(tool).filter(([field]) => !(notDefinition as readonly string[]).includes(field)),
    )
    const { execute, mcp } = tool
    const whole = {
      ...rest,
      execute: execute && { ...execute, headers: withoutCredentials(execute.headers) },
      mcp: mcp && { ...mcp, headers: withoutCredentials(mcp.headers), env: withoutCredentials(mcp.env) },
    }
    hash = hashOf(plain({ action: { id, description, schema, definition }, presets: offer.presets, tool: whole }))
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
