import { z } from 'zod'
import type { ToolEntry } from '../../catalogue/catalogue.ts'
import { Redactor } from '../../credentials/redactor.ts'
import { excessOf, isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { builtIns, type StepGuide } from '../../model/guide.ts'
import { type Action, done, type Output } from '../../model/tool.ts'
import type { Run } from '../../store/generations.ts'
import type { JournalCall } from '../../store/journal.ts'
import { defineToolType } from '../../tools/tool-type.ts'
import { builtInName } from '../offered.ts'
import type { GuideDeps } from './guide-deps.ts'

/*
 * `built-in:reason` and `built-in:emit_output` are tools without a record: a guide offers them in the steps of a turn that
 * need them. Their calls go through dispatch like all others, with a tool that belongs to the turn.
 */

/** The output of a run has no fields that its schema does not name. */
export const emitSchema = (schema: JsonObject): JsonObject =>
  schema.type === 'object' && schema.additionalProperties === undefined
    ? { ...schema, additionalProperties: false }
    : schema

const namespace = 'built-in'

/** The tool that executes a call of a built-in action in this step of the turn. */
export function builtInTool(run: Run, call: JournalCall, step: StepGuide, deps: GuideDeps): ToolEntry {
  const name = (call.action ?? '').slice(namespace.length + 1)
  // Any input is accepted here: what is wrong with it becomes a result, which the model can react to.
  const definition = { name, description: null, schema: { type: 'object' }, idempotent: true, destructive: false }
  const type = defineToolType({
    ...{ type: namespace, title: 'Built-in', description: 'A tool of the platform, in routines.', many: false },
    config: z.object({}),
    secrets: () => [],
    actions: () => [definition],
    execute: ({ input }) => execute(run, call, step, input, deps),
  })
  const tool: ToolEntry['tool'] = {
    ...{ id: namespace, project_id: run.project_id, name: namespace, type: namespace, description: null },
    ...{ config: {}, preset_parameters: null, app: null, many_actions: true, pin_definitions: false, level: 'open' },
    ...{ auto_approve: true, ask_destructive: false, timeout_seconds: null, approval_timeout_seconds: null },
    ...{ created_at: '', updated_at: '' },
  }
  const action: Action = {
    ...definition,
    ...{ id: `${namespace}:${name}`, namespace, app: namespace, level: 'open', autoApprove: true },
    approvalSetting: true,
  }
  const check = deps.schemas.compile(action.schema)
  const prepared = { action, presets: {}, publicSchema: action.schema, withheld: false, check: () => check }
  const filled = { config: {}, redactor: new Redactor([]), authorization: undefined }
  return { tool, type, filled, actions: new Map([[name, prepared]]), methods: new Map() }
}

const failure = (error: string, details: Json): Output => ({ ...done({ ok: false, error, details }), failed: true })

/**
 * Both validate their output. If it is not valid, the model sees why and may try again, as long as the turn has iterations
 * left.
 */
async function execute(
  run: Run,
  { action }: JournalCall,
  step: StepGuide,
  input: JsonObject,
  { store, schemas }: GuideDeps,
): Promise<Output> {
  const target = step.built_ins.find(({ tool_id }) => tool_id === action)
  if (!target) return failure('not_available', `${builtInName(action ?? '')} cannot be used in this step`)
  const output = outputIn(input)
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
  return done({ ok: true, output: output.value })
}

/** The arguments of a call. Text that is not JSON counts as the output itself, so that the model is told what is wrong. */
export function builtInInput({ args }: JournalCall): JsonObject {
  try {
    const input: unknown = excessOf(args) === undefined ? JSON.parse(args) : undefined
    if (isObject(input)) return input
  } catch {}
  return { output_json: args }
}

/** `output_json` is JSON text. Models that send the value itself are understood, too. */
function outputIn({ output_json: given }: JsonObject): { readonly value: Json } | { readonly fault: string } {
  if (given === undefined) return { fault: 'output_json is missing' }
  if (typeof given !== 'string') return { value: given }
  const excess = excessOf(given)
  if (excess !== undefined) return { fault: `output_json ${excess}` }
  try {
    return { value: JSON.parse(given) }
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
