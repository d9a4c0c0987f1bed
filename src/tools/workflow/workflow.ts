import { z } from 'zod'
import type { Schemas } from '../../json-schema/schema.ts'
import { orDidYouMean } from '../../lib/nearest.ts'
import type { Fault } from '../../model/errors.ts'
import { checkPresets } from '../parameters.ts'
import { defineToolType } from '../tool-type.ts'
import type { ActionLookup } from './actions.ts'
import { checkWorkflow, type FindAction } from './check.ts'
import { inputSchemaOf, Workflow } from './definition.ts'
import { findCycle, safetyOf } from './safety.ts'

/** Several calls as one action. Each step is a call with its own permission, approval and record. */
export const workflow = defineToolType({
  type: 'workflow',
  title: 'Workflow',
  description: 'Steps that call other actions, one after the other. A run survives restarts and waits for approvals.',
  many: false,
  kind: 'workflow',
  composed: true,
  config: z.object({ workflow: Workflow }),

  async check({ name, app, config, preset_parameters }, { schemas, actions }, { projectId }) {
    const { workflow: definition } = config
    const schema = inputSchemaOf(definition)
    if (schema.type !== 'object')
      return [{ path: 'workflow.input.type', message: 'must be "object": the input of a tool is an object' }]
    const inSchema = await schemas.faultsOf(schema)
    if (inSchema.length > 0)
      return inSchema.map(({ path, message }) => ({ path: `workflow.input${path && `.${path}`}`, message }))
    const inEvents = await eventSchemaFaults(definition, schemas)
    const { faults } = await checkWorkflow(definition, finder(projectId, actions))
    const cycle = await findCycle(`${app ?? 'tools'}:${name}`, definition, projectId, actions)
    const inPresets = preset_parameters ? await checkPresets(schema, preset_parameters, schemas) : []
    return [...faults.map(plain), ...inEvents, ...inPresets, ...(cycle ? [circular(cycle)] : [])]
  },

  secrets: () => [],

  async actions({ name, description, project_id, config }, { actions }) {
    const { level, idempotent, destructive, readOnly } = await safetyOf(config.workflow, project_id, actions)
    return [
      {
        name,
        description,
        schema: inputSchemaOf(config.workflow),
        level,
        idempotent,
        destructive,
        readOnly,
        resumable: true,
        definition: {
          annotations: { readOnlyHint: readOnly, idempotentHint: idempotent, destructiveHint: destructive },
        },
      },
    ]
  },

  execute: (call, { runWorkflow }) => runWorkflow(call, call.config.workflow),
})

async function eventSchemaFaults({ steps }: Workflow, schemas: Schemas): Promise<Fault[]> {
  const all = steps.map(async ({ wait_for }, index) => {
    const faults = wait_for?.data ? await schemas.faultsOf(wait_for.data) : []
    const place = `workflow.steps[${index}].wait_for.data`
    return faults.map(({ path, message }) => ({ path: `${place}${path && `.${path}`}`, message }))
  })
  return (await Promise.all(all)).flat()
}

const plain = ({ path, message }: Fault): Fault => ({ path, message })

const circular = (path: readonly string[]): Fault => ({
  path: 'workflow.steps',
  message: `the workflow would call itself: ${path.join(' → ')}`,
})

/** Looks actions up on the platform. */
export function finder(projectId: string, actions: ActionLookup): FindAction {
  return async (id) => {
    const action = await actions.findAction(projectId, id)
    if (action) return action
    return { missing: `there is no action "${id}"${orDidYouMean(id, await actions.knownIds(projectId))}` }
  }
}
