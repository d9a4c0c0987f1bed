import { stringify } from 'yaml'
import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import type { Call } from '../model/call.ts'
import { PlatformError } from '../model/errors.ts'
import { Id } from '../model/page.ts'
import { Workflow } from '../tools/workflow/definition.ts'
import { finder } from '../tools/workflow/workflow.ts'
import { draftOf } from '../workflows/draft.ts'
import { call as callRecord } from './calls.ts'
import { type Context, operation } from './operation.ts'
import { Problem, problemsOf } from './workflow-runs.ts'

const maxCalls = 50

export const draftWorkflow = operation({
  name: 'draft-workflow',
  permission: 'calls:GetCall',
  route: 'POST /workflows/draft',
  summary: 'Make a workflow of recorded calls, as a draft in YAML',
  example: { call_ids: ['call_find', 'call_create'] },
  repeatable: true,
  input: z.strictObject({
    call_ids: z.array(Id).min(1).max(maxCalls).describe('Successful calls, in any order'),
    name: z.string().min(1).max(64).optional().describe('The name of the workflow. Default: recorded'),
  }),
  output: z.object({
    workflow: Workflow,
    yaml: z.string().describe('A project file for quartermaster apply'),
    problems: z.array(Problem).describe('What to fix before you create it'),
  }),
  async run({ call_ids, name = 'recorded' }, context) {
    const { toolDeps } = context
    const calls = await recordedCalls(call_ids, context)
    const projectId = calls[0]?.project_id ?? ''
    const find = finder(projectId, toolDeps.actions)
    const recorded = await Promise.all(
      calls.map(async (call) => {
        const action = await find(call.action ?? '').catch(() => undefined)
        return { call, schema: action && typeof action === 'object' && 'schema' in action ? action.schema : undefined }
      }),
    )
    const workflow = draftOf(recorded)
    const yaml = stringify({ tools: { [name]: { type: 'workflow', workflow } } }, { lineWidth: 0 })
    return { workflow, yaml, problems: (await problemsOf(workflow, find)).problems }
  },
})

/** The calls in the order in which they were made. The caller must be allowed to see each of them. */
async function recordedCalls(ids: readonly string[], { store, principal }: Context): Promise<Call[]> {
  const found = await store.calls.findMany([...new Set(ids)])
  const visible = found.filter((one) => evaluate(principal, 'calls:GetCall', callRecord.resource(one)).allowed)
  const [first] = visible
  const errors = ids.flatMap((id, index) => {
    const one = visible.find((call) => call.id === id)
    const message = one ? notRepeatable(one, first as Call) : 'does not exist'
    return message === undefined ? [] : [{ path: `call_ids[${index}]`, message: `the call ${id} ${message}` }]
  })
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
  return visible.sort((one, other) => one.created_at.localeCompare(other.created_at) || one.id.localeCompare(other.id))
}

function notRepeatable(call: Call, first: Call): string | undefined {
  if (call.project_id !== first.project_id) return 'belongs to another project than the first one'
  if (call.action === null || call.tool_id === null) return 'is not a call of an action'
  if (call.status !== 'success') return `has the status ${call.status}: only successful calls can be repeated`
  return call.request_truncated ? 'was too large to be recorded' : undefined
}
