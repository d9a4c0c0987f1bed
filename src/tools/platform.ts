import { z } from 'zod'
import { mayAlways, resourceName } from '../access/evaluate.ts'
import type { JsonObject } from '../lib/json.ts'
import { orDidYouMean } from '../lib/nearest.ts'
import { PlatformError } from '../model/errors.ts'
import { higherLevel } from '../model/tool.ts'
import { formHints } from './form-hints.ts'
import { defineToolType } from './tool-type.ts'

/** Runs the listed operations of the platform, within the tool's project. */
export const platform = defineToolType({
  type: 'platform',
  aliases: ['soat'],
  title: 'Platform',
  description: 'Operations of Quartermaster itself, within the project of the tool.',
  many: true,
  config: z.object({
    actions: z
      .array(z.string().min(1).max(200))
      .max(1000)
      .meta({ title: 'Actions', description: 'Which of the platform’s actions a platform tool offers' })
      .register(formHints, { control: 'platform-actions' }),
  }),
  summary: ['actions'],

  check({ config: { actions } }, { platformActions }) {
    if (actions.length === 0) return [{ path: 'actions', message: 'must name at least one action' }]
    return actions.flatMap((action, index) => {
      if (platformActions.has(action)) return []
      const hint = orDidYouMean(action, [...platformActions.keys()])
      return [{ path: `actions[${index}]`, message: `"${action}" is not an action of the platform${hint}` }]
    })
  },

  /**
   * The tool runs with its caller's permissions, on arguments that its presets can choose. So you need the permission
   * for each of its actions, on the whole project. Otherwise you could make a more privileged caller do what you
   * cannot.
   */
  authorize({ config: { actions }, projectId, principal }, { platformActions }) {
    for (const name of actions) {
      const permission = platformActions.get(name)?.permission
      if (permission === undefined || mayAlways(principal, permission, projectId)) continue
      const resource = resourceName({ projectId, kind: '*', id: '*' })
      const reason = `To put the action "${name}" into a tool you need ${permission} on ${resource}, without exceptions. Ask someone who has that permission to register or change the tool.`
      throw new PlatformError('FORBIDDEN', { permission, layer: 'access policy', resource, reason })
    }
  },

  secrets: () => [],

  level: ({ actions }, { platformActions }) =>
    actions.flatMap((name) => platformActions.get(name)?.level ?? []).reduce(higherLevel, 'open'),

  actions: ({ config }, { platformActions }) =>
    [...new Set(config.actions)].flatMap((name) => {
      const action = platformActions.get(name)
      return action ? [{ ...action, schema: withoutProject(action.schema) }] : []
    }),

  async execute({ tool, config: _, action, input, principal, signal, ...context }, { perform }) {
    // The tool is bound to its project, even if the caller's key is not.
    const bound = { ...principal, projectId: tool.project_id }
    return unlessAborted(perform(action.name, input, { ...context, principal: bound, signal }), signal)
  },
})

/** Stops waiting on abort. An operation that cannot be aborted continues in the background. */
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
