import { excessOf, isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { builtIns, type StepGuide } from '../../model/guide.ts'
import type { Run } from '../../store/generations.ts'
import type { JournalCall } from '../../store/journal.ts'
import type { GuideDeps } from './guide-deps.ts'

/** The output of a run has no fields that its schema does not name. */
export const emitSchema = (schema: JsonObject): JsonObject =>
  schema.type === 'object' && schema.additionalProperties === undefined
    ? { ...schema, additionalProperties: false }
    : schema

type Result = { readonly output: JsonObject; readonly isError: boolean }

const failure = (error: string, details: Json): Result => ({ output: { ok: false, error, details }, isError: true })

/**
 * Executes `built-in:reason` or `built-in:emit_output`. Both validate their output. If it is not valid, the model sees why
 * and may try again, as long as the turn has iterations left.
 */
export async function executeBuiltIn(
  run: Run,
  call: JournalCall,
  step: StepGuide,
  { store, schemas }: GuideDeps,
): Promise<Result> {
  const target = step.built_ins.find(({ tool_id }) => tool_id === call.action)
  if (!target) return failure('not_available', `${call.tool_name} cannot be used in this step`)
  const output = outputIn(call.args)
  if ('fault' in output) return failure('invalid_json', output.fault)
  const faults = await schemas.compile(target.schema)(output.value)
  if (faults.length > 0) {
    return failure(
      'output_validation_failed',
      faults.map(({ path, message }) => ({ path, message })),
    )
  }
  if (target.tool_id === builtIns.reason) {
    await store.sessions.setStepOutput(run.session_id as string, target.node_id, output.value)
  }
  return { output: { ok: true, output: output.value }, isError: false }
}

/** `output_json` is JSON text. Models that send the value itself are understood, too. */
function outputIn(args: string): { readonly value: Json } | { readonly fault: string } {
  try {
    const excess = excessOf(args)
    if (excess !== undefined) return { fault: `the arguments are too large: ${excess}` }
    const input: unknown = JSON.parse(args)
    if (!isObject(input) || input.output_json === undefined) return { fault: 'output_json is missing' }
    const { output_json: given } = input
    return { value: typeof given === 'string' ? JSON.parse(given) : given }
  } catch (error) {
    return { fault: `output_json is not valid JSON: ${(error as Error).message}` }
  }
}

/** The output that settled an autonomous run. */
export function emittedIn(calls: readonly JournalCall[]): { readonly value: Json } | undefined {
  const emitted = calls.find(({ action, tool_id, output }) => {
    const isEmit = tool_id === null && action === builtIns.emitOutput
    return isEmit && isObject(output) && output.ok === true
  })
  return emitted && isObject(emitted.output) ? { value: emitted.output.output ?? null } : undefined
}
