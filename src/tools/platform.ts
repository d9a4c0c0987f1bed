import { z } from 'zod'
import type { JsonObject } from '../lib/json.ts'
import { orDidYouMean } from '../lib/nearest.ts'
import { defineToolType } from './tool-type.ts'

/** The platform's own operations, those that the record lists, within the tool's project. */
export const platform = defineToolType({
  type: 'platform',
  aliases: ['soat'],
  many: true,
  config: z.object({ actions: z.unknown() }),

  check({ actions, name }, { platformActions }) {
    if (!actions?.length) return [{ path: 'actions', message: 'must name at least one action' }]
    const faults = actions.flatMap((action, index) => {
      if (platformActions.has(action)) return []
      const hint = orDidYouMean(action, [...platformActions.keys()])
      return [{ path: `actions[${index}]`, message: `"${action}" is not an action of the platform${hint}` }]
    })
    if (name === 'tools') faults.push({ path: 'name', message: '"tools" is kept for tools with a single action' })
    return faults
  },

  actions: (tool, { platformActions }) =>
    [...new Set(tool.actions ?? [])].flatMap((name) => {
      const action = platformActions.get(name)
      return action ? [{ ...action, schema: withoutProject(action.schema) }] : []
    }),

  async execute({ tool, action, input, principal, signal, ...asker }, { perform }) {
    // Whoever calls it, the tool reaches its own project only.
    const bound = { ...principal, projectId: tool.project_id }
    return unlessAborted(perform(action.name, input, { ...asker, principal: bound, signal }), signal)
  },
})

/** An operation that cannot be stopped goes on, but nobody waits for it. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function withoutProject(schema: JsonObject): JsonObject {
  const { project_id: _, ...properties } = (schema.properties ?? {}) as JsonObject
  return { ...schema, properties }
}
