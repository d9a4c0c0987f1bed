import { z } from 'zod'
import type { Schemas } from '../json-schema/schema.ts'
import type { JsonObject } from '../lib/json.ts'
import type { Fault } from '../model/errors.ts'
import { jsonObject, type ToolDraft } from '../model/tool.ts'
import { formHints } from './form-hints.ts'

/** Added to the error if a required field is missing. */
export const hintsWhenMissing = z.registry<{ readonly hint: string }>()

/** The input schema of a tool with one action. All types with such a field share this one. */
export const Parameters = jsonObject('JSON Schema of the input')
  .meta({ title: 'Input' })
  .register(formHints, { control: 'schema', initial: { type: 'object', properties: {} }, last: true })
  .register(hintsWhenMissing, { hint: 'for a tool without input, send {"type":"object","properties":{}}' })

export async function checkParameters(
  { config: { parameters }, preset_parameters }: ToolDraft<{ parameters: JsonObject }>,
  schemas: Schemas,
): Promise<readonly Fault[]> {
  if (parameters.type !== undefined && parameters.type !== 'object') {
    return [{ path: 'parameters.type', message: 'must be "object": the input of a tool is an object' }]
  }
  const faults = await schemas.faultsOf(parameters)
  if (faults.length > 0) {
    return faults.map(({ path, message }) => ({ path: path === '' ? 'parameters' : `parameters.${path}`, message }))
  }
  return preset_parameters ? checkPresets(parameters, preset_parameters, schemas) : []
}

/** A preset that violates the schema would make every call fail, and callers could not fix it. */
export async function checkPresets(
  parameters: JsonObject,
  presets: JsonObject,
  schemas: Schemas,
): Promise<readonly Fault[]> {
  const { properties = {}, $defs, definitions } = parameters as Record<string, JsonObject>
  const fixed = Object.fromEntries(Object.entries(properties).filter(([key]) => Object.hasOwn(presets, key)))
  const schema: JsonObject = { properties: fixed, ...($defs && { $defs }), ...(definitions && { definitions }) }
  const faults = await schemas.compile(schema)(presets)
  return faults.map(({ path, message }) => ({ path: `preset_parameters.${path}`, message }))
}
