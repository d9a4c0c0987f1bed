import type { PreparedAction, ToolEntry } from '../catalogue/catalogue.ts'
import { unaliased } from '../catalogue/presets.ts'
import type { ValidCall } from '../dispatch/call.ts'
import { hashOf } from '../lib/canonical.ts'
import { isEmpty, type Json, type JsonObject } from '../lib/json.ts'

/** The input as the caller sent it: without preset parameters, and with aliases replaced by the fields' own names. */
export function sentInput(input: JsonObject, { action, presets }: PreparedAction): JsonObject {
  const own = unaliased(input, action)
  if (isEmpty(presets)) return own
  return Object.fromEntries(Object.entries(own).filter(([key]) => !Object.hasOwn(presets, key)))
}

const hashes = new WeakMap<PreparedAction, string>()

/**
 * Fields of a tool that do not change what a call does: timestamps, timeouts and approval settings. Every other field is
 * part of the definition, including fields added in the future.
 */
const notDefinition = [
  ...(['created_at', 'updated_at', 'timeout_seconds', 'approval_timeout_seconds'] as const),
  ...(['auto_approve', 'ask_destructive', 'pin_definitions', 'action_settings'] as const),
]

/**
 * Hashes what a call would do, apart from its input: the whole definition of the tool and the action. Only what the tool
 * type leaves out of its fingerprint may change, such as credentials, which may be rotated while an approval is pending.
 */
export function definitionHash({ tool, type }: ToolEntry, prepared: PreparedAction): string {
  let hash = hashes.get(prepared)
  if (hash === undefined) {
    const { id, description, schema, definition = null } = prepared.action
    const rest = Object.fromEntries(
      Object.entries(tool).filter(([field]) => !(notDefinition as readonly string[]).includes(field)),
    )
    const whole = { ...rest, config: type.fingerprint?.(tool.config) ?? tool.config }
    hash = hashOf(plain({ action: { id, description, schema, definition }, presets: prepared.presets, tool: whole }))
    hashes.set(prepared, hash)
  }
  return hash
}

/** Drops undefined properties, which JSON cannot represent. */
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value))

/**
 * Identical for repeats of the same call by the same caller, so that a caller that gave up and calls again finds the
 * pending approval. Within an agent run, each call has its own hash, and so do the calls made by one of them.
 * So does each call of a workflow.
 */
export const repeatHash = (call: ValidCall, input: JsonObject): string => {
  const { principal, entry, prepared, generation, parentCallId, id, viaAgent, surface } = call
  const inRun = generation ? [generation.id, viaAgent ? id : (parentCallId ?? id)] : null
  const within = surface === 'workflow' ? [id] : inRun
  const own = principal.endUserId === null ? [] : [principal.endUserId]
  return hashOf([principal.id, entry.tool.id, prepared.action.id, input, within, ...own])
}
