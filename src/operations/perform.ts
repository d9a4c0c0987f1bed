import type { Json, JsonObject } from '../lib/json.ts'
import { Waiting } from '../model/outcome.ts'
import { done, type Output } from '../model/tool.ts'
import type { Asker } from '../tools/tool-type.ts'
import { operations } from './index.ts'
import { JsonText, type Operation, type Parts } from './operation.ts'

const byName = new Map(operations.map((operation) => [operation.name, operation]))

/** Runs an operation from within a call of a platform tool, with every check that REST makes. */
export async function perform(
  name: string,
  input: JsonObject,
  { callId, depth, signal, onWait = 'block', principal, generation, context, home }: Asker,
  parts: Parts,
): Promise<Output | Waiting> {
  const result = await (byName.get(name) as Operation).perform(input, {
    ...parts,
    principal,
    surface: 'agent',
    client: { name: null, version: null },
    parentCallId: callId,
    depth: depth + 1,
    live: { signal },
    generation,
    context,
    // A caller that returns would leave nobody here to make the call again.
    onWait: onWait === 'resume' ? onWait : 'block',
    home,
  })
  if (result instanceof Waiting) return result
  return result instanceof JsonText ? done(JSON.parse(result.text), result.text) : done((result ?? null) as Json)
}
