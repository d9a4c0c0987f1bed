import type { Json, JsonObject } from '../lib/json.ts'
import { Waiting } from '../model/outcome.ts'
import { done, type Output } from '../model/tool.ts'
import type { CallContext } from '../tools/tool-type.ts'
import { JsonText, type Operation, type OperationDeps } from './operation.ts'

/** Runs an operation from within a call of a platform tool, with every check that REST makes. */
export async function perform(
  name: string,
  input: JsonObject,
  { callId, depth, signal, onWait = 'block', principal, generation, context, home }: CallContext,
  deps: OperationDeps,
): Promise<Output | Waiting> {
  const result = await (deps.operations.get(name) as Operation).perform(input, {
    ...deps,
    principal,
    surface: 'agent',
    client: { name: null, version: null },
    parentCallId: callId,
    depth: depth + 1,
    live: { signal },
    generation,
    context,
    // With "return", the call would not be made again after the decision.
    onWait: onWait === 'resume' ? onWait : 'block',
    home,
  })
  if (result instanceof Waiting) return result
  if (result instanceof JsonText && result.text === '') return done(null)
  return result instanceof JsonText ? done(JSON.parse(result.text), result.text) : done((result ?? null) as Json)
}
