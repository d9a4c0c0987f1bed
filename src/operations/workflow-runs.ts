import { z } from 'zod'
import { toolResource } from '../dispatch/authorize.ts'
import type { Schemas } from '../json-schema/schema.ts'
import { AnyJson, type Json } from '../lib/json.ts'
import { orDidYouMean } from '../lib/nearest.ts'
import { PlatformError } from '../model/errors.ts'
import { Waiting } from '../model/outcome.ts'
import { Id, iso, Paging, pageOf } from '../model/page.ts'
import { jsonObject } from '../model/tool.ts'
import { isRunOver, RunStatus, WorkflowRun, WorkflowRunDetail } from '../model/workflow-run.ts'
import type { StoredRun } from '../store/workflow-runs.ts'
import { checkWorkflow, type FindAction } from '../tools/workflow/check.ts'
import { EventName, type Step, Workflow } from '../tools/workflow/definition.ts'
import { finder } from '../tools/workflow/workflow.ts'
import { startDryRun } from '../workflows/dry-run.ts'
import { detailOf } from '../workflows/view.ts'
import {
  acts,
  type Context,
  creates,
  JsonText,
  lists,
  operation,
  type RecordKind,
  requireAllowed,
} from './operation.ts'
import { call, tool } from './tools.ts'

export const workflowRun: RecordKind<WorkflowRun> = {
  name: 'workflow-run',
  find: (id, store) => store.workflowRuns.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'workflow-run', id }),
}

const Pending = z.object({ status: z.literal('pending_approval'), approval_id: z.string(), expires_at: z.string() })

export const startWorkflowRun = operation({
  name: 'start-workflow-run',
  permission: 'tools:CallTool',
  route: 'POST /workflow-runs',
  summary: 'Start a workflow without waiting for its result, or try it with dry_run',
  example: { tool_id: 'tool_onboard', input: { email: 'ana@example.com' } },
  status: 201,
  input: z.strictObject({
    tool_id: Id.describe('The workflow tool'),
    input: jsonObject('The input of the workflow').optional(),
    dry_run: z
      .boolean()
      .optional()
      .describe('Make only calls that change nothing, and use samples of the output schemas for the others'),
  }),
  output: WorkflowRunDetail,
  later: Pending,
  async run({ tool_id, input = {}, dry_run }, context) {
    const target = await requireWorkflow(tool_id, context)
    if (!dry_run) return started(tool_id, input, undefined, context)
    const { principal, workflows, catalogue, depth, store } = context
    requireAllowed(principal, 'tools:CallTool', toolResource(target))
    const run = await startDryRun(target.id, input, { principal, depth, callId: null }, { workflows, catalogue })
    return shown(await workflows.settled(run.id, isRunOver), store)
  },
})

/** Only workflows have runs. */
async function requireWorkflow(id: string, { store, toolTypes }: Context) {
  const found = await tool.find(id, store)
  if (!found) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'tool', id })
  if (toolTypes.of(found).kind === undefined)
    throw new PlatformError('VALIDATION_FAILED', {
      errors: [{ path: 'tool_id', message: `"${found.name}" is not a workflow: call it with call-tool` }],
    })
  return found
}

/** Starts a run through dispatch, with the workflow's own permission, approval and record. */
async function started(
  toolId: string,
  input: StoredRun['input'],
  from: { readonly runId: string; readonly step: string } | undefined,
  context: Context,
) {
  const { store } = context
  const result = await call(toolId, undefined, input, {
    ...context,
    onWait: 'return',
    run: { detach: true, ...(from && { from }) },
  })
  if (!(result instanceof Waiting)) throw new PlatformError('INTERNAL', {})
  const { on } = result
  if (on.kind === 'approval') {
    const answer = { status: 'pending_approval', approval_id: on.id, expires_at: iso(on.expiresAt) }
    return new JsonText(JSON.stringify(answer), 202)
  }
  const run = on.kind === 'workflow' ? await store.workflowRuns.find(on.id) : undefined
  if (!run) throw new PlatformError('INTERNAL', {})
  return shown(run, store)
}

const shown = async (run: StoredRun, store: Context['store']): Promise<WorkflowRunDetail> =>
  detailOf(run, await store.workflowRuns.journal(run.id))

export const listWorkflowRuns = lists({
  name: 'list-workflow-runs',
  permission: 'workflow-runs:ListWorkflowRuns',
  route: 'GET /workflow-runs',
  summary: 'List runs of workflows and programs, newest first',
  of: workflowRun,
  input: z.strictObject({
    project_id: Id.optional(),
    tool_id: Id.optional(),
    status: RunStatus.optional(),
    kind: z.enum(['workflow', 'code']).optional(),
    ...Paging,
  }),
  output: pageOf(WorkflowRun),
  run: (input, { store, visible }) => store.workflowRuns.list(input, visible),
})

export const getWorkflowRun = acts({
  name: 'get-workflow-run',
  permission: 'workflow-runs:GetWorkflowRun',
  route: 'GET /workflow-runs/{workflow_run_id}',
  summary: 'Get a workflow run with its steps and calls',
  on: workflowRun as RecordKind<StoredRun>,
  input: z.strictObject({ id: Id }),
  output: WorkflowRunDetail,
  run: (_, { target, store }) => shown(target, store),
})

export const cancelWorkflowRun = acts({
  name: 'cancel-workflow-run',
  permission: 'workflow-runs:CancelWorkflowRun',
  route: 'POST /workflow-runs/{workflow_run_id}/cancel',
  summary: 'Cancel a workflow run; effects of its calls are not undone',
  example: {},
  on: workflowRun as RecordKind<StoredRun>,
  input: z.strictObject({ id: Id }),
  output: WorkflowRunDetail,
  async run({ id }, { workflows, store }) {
    await workflows.cancel(id)
    return shown(await workflows.settled(id, isRunOver), store)
  },
})

export const resumeWorkflowRun = acts({
  name: 'resume-workflow-run',
  permission: 'workflow-runs:ResumeWorkflowRun',
  route: 'POST /workflow-runs/{workflow_run_id}/resume',
  summary: 'Continue a failed or cancelled run at the step that failed, with its recorded outputs',
  example: {},
  on: workflowRun as RecordKind<StoredRun>,
  input: z.strictObject({ id: Id }),
  output: WorkflowRunDetail,
  async run({ id }, { workflows, store, target, principal }) {
    // The run goes on with the permissions of the one who started it.
    if (target.started_by.id !== principal.id && target.tool_id !== null) {
      requireAllowed(principal, 'tools:CallTool', toolResource({ id: target.tool_id, project_id: target.project_id }))
    }
    await workflows.reopen(target)
    return shown((await store.workflowRuns.find(id)) ?? target, store)
  },
})

export const sendWorkflowEvent = acts({
  name: 'send-workflow-event',
  permission: 'workflow-runs:SendWorkflowEvent',
  route: 'POST /workflow-runs/{workflow_run_id}/events',
  summary: 'Send an event that a run waits for, or will wait for',
  example: { name: 'payment_received', data: { amount: 20 } },
  on: workflowRun as RecordKind<StoredRun>,
  input: z.strictObject({
    id: Id,
    name: EventName.describe('As in wait_for.event of a step'),
    data: AnyJson.optional().describe('The output of the step that waits for the event'),
  }),
  output: WorkflowRunDetail,
  async run({ id, name, data = null }, { workflows, store, target, schemas }) {
    const errors = await eventFaults(target, name, data, schemas)
    if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
    await workflows.send(target, name, data)
    return shown((await store.workflowRuns.find(id)) ?? target, store)
  },
})

/** An event that no step waits for is a mistake of the sender, as is data of another shape. */
async function eventFaults({ settings, name: workflow }: StoredRun, name: string, data: Json, schemas: Schemas) {
  const { steps = [] } = settings.definition as { steps?: Step[] }
  const known = steps.flatMap(({ wait_for }) => (wait_for?.event === undefined ? [] : [wait_for.event]))
  if (!known.includes(name)) {
    const message = `"${workflow}" does not wait for the event "${name}"${orDidYouMean(name, known)}`
    return [{ path: 'name', message }]
  }
  const schema = steps.find(({ wait_for }) => wait_for?.event === name)?.wait_for?.data
  const faults = schema ? await schemas.compile(schema)(data) : []
  return faults.map(({ path, message }) => ({ path: `data${path && `.${path}`}`, message }))
}

export const rerunWorkflow = acts({
  name: 'rerun-workflow',
  permission: 'workflow-runs:RerunWorkflow',
  route: 'POST /workflow-runs/{workflow_run_id}/rerun',
  summary: 'Start the workflow again with the same input, from a step on, with the recorded outputs before it',
  example: { from_step: 'charge' },
  later: Pending,
  on: workflowRun as RecordKind<StoredRun>,
  input: z.strictObject({
    id: Id,
    from_step: z.string().max(64).optional().describe('The first step to run again. By default, the first of all'),
  }),
  output: WorkflowRunDetail,
  async run({ from_step }, context) {
    const { target } = context
    if (!isRunOver(target.status))
      throw new PlatformError('RUN_NOT_RESUMABLE', { run_id: target.id, status: target.status })
    const { steps = [] } = target.settings.definition as { steps?: { id: string }[] }
    if (target.tool_id === null || (from_step !== undefined && !steps.some(({ id }) => id === from_step))) {
      const message = target.tool_id === null ? 'programs cannot be run again' : `the run has no step "${from_step}"`
      throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'from_step', message }] })
    }
    const from = from_step === undefined ? undefined : { runId: target.id, step: from_step }
    return started(target.tool_id, target.input, from, context)
  },
})

export const Problem = z.object({
  severity: z.enum(['error', 'warning']),
  path: z.string().describe('Where in the tool, such as workflow.steps[0].input.email'),
  at: z.int().nullable().describe('Where in the text at that path, in characters'),
  message: z.string(),
})

export const checkWorkflowDefinition = creates({
  name: 'check-workflow',
  permission: 'tools:CreateTool',
  route: 'POST /workflows/check',
  summary: 'Check a workflow against the schemas of the actions that it calls, without storing it',
  example: { workflow: { steps: [{ id: 'find', call: 'crm:find_contact', input: { email: 'ana@example.com' } }] } },
  status: 200,
  repeatable: true,
  kind: 'tool',
  input: z.strictObject({ project_id: Id.optional(), workflow: Workflow }),
  output: z.object({ valid: z.boolean(), problems: z.array(Problem), output_schema: AnyJson }),
  run: ({ workflow }, { projectId, toolDeps }) => problemsOf(workflow, finder(projectId, toolDeps.actions)),
})

/** What is wrong with a workflow, for someone who can fix it. */
export async function problemsOf(workflow: Workflow, find: FindAction) {
  const { faults, warnings, outputSchema } = await checkWorkflow(workflow, find)
  const problems = (severity: 'error' | 'warning', all: typeof faults) =>
    all.map(({ path, message, at }) => ({ severity, path, at: at ?? null, message }))
  return {
    valid: faults.length === 0,
    problems: [...problems('error', faults), ...problems('warning', warnings)],
    output_schema: outputSchema,
  }
}
