import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { ask, qm, type WorkflowRunDetail } from '../../api.ts'
import { duration, exactly } from '../../format.ts'
import { useMay } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { OutputView } from '../../ui/output.tsx'
import { Facts, PageHead, Panel } from '../../ui/panel.tsx'
import { JsonView, TextView } from '../../ui/text.tsx'
import { useAction } from '../../use-action.ts'
import { codeIn, stepsIn } from './definition.ts'
import { WorkflowGraph } from './graph.tsx'
import { isUnderWay, RunStatus } from './status.tsx'
import { StepDetails } from './step.tsx'

export function Run() {
  const { runId } = useParams({ from: '/workflows/$runId' })
  const run = useQuery({
    queryKey: ['workflow-run', runId],
    queryFn: () => ask(qm.workflowRuns.getWorkflowRun({ path: { workflow_run_id: runId } })),
    // Poll while the run is in progress.
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data.status) ? 1000 : false),
  })
  return <Answered query={run}>{(record) => <Whole run={record} />}</Answered>
}

const changes = ['workflow-run', 'workflow-runs']

/** Starts the workflow again, and opens the new run. */
function useRerun(run: WorkflowRunDetail) {
  const navigate = useNavigate()
  const path = { workflow_run_id: run.id }
  return useAction(
    (from_step: string | undefined) =>
      ask(qm.workflowRuns.rerunWorkflow({ path, body: from_step ? { from_step } : {} })),
    {
      changes,
      onDone: (started) => {
        if ('id' in started) void navigate({ to: '/workflows/$runId', params: { runId: started.id } })
      },
    },
  )
}

function Whole({ run }: { run: WorkflowRunDetail }) {
  const steps = stepsIn(run.definition)
  const code = codeIn(run.definition)
  const rerun = useRerun(run)
  const mayRerun =
    useMay('workflow-runs:RerunWorkflow') && !isUnderWay(run.status) && code === undefined && !run.dry_run
  return (
    <>
      <PageHead
        title={run.name}
        actions={
          <>
            <Changes run={run} />
            {mayRerun && (
              <Button busy={rerun.busy} onClick={() => rerun.run(undefined)}>
                Run again
              </Button>
            )}
          </>
        }
      >
        <RunStatus status={run.status} /> {run.dry_run && 'dry run '}
        <code className="ml-1 font-mono text-xs break-all">{run.id}</code>
      </PageHead>
      <div className="space-y-4">
        <ErrorNotice error={rerun.error} />
        {rerun.data && 'approval_id' in rerun.data && (
          <p role="status" className="rounded-md border border-warn/50 bg-warn-wash px-3 py-2 text-sm">
            The new run starts when it is approved.{' '}
            <a href={`/approvals/${rerun.data.approval_id}`} className="text-accent underline">
              Open approval
            </a>
          </p>
        )}
        <Waits run={run} />
        {run.error && (
          <div role="alert" className="rounded-md border border-bad/40 bg-bad-wash px-3 py-2 text-sm break-words">
            <span className="mr-2 font-mono text-xs font-semibold text-bad">{run.error.code}</span>
            {run.error.message}
          </div>
        )}
        <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
          <Panel title={code === undefined ? 'Graph' : 'Program'}>
            {code === undefined ? (
              <WorkflowGraph name={run.name} steps={steps} run={run.steps} />
            ) : (
              <TextView text={code} name="program.ts" />
            )}
          </Panel>
          <Panel title="Steps" flush>
            {run.steps.map((step) => (
              <StepDetails
                key={step.id}
                step={step}
                actions={
                  mayRerun && (
                    <Button busy={rerun.busy} onClick={() => rerun.run(step.id)}>
                      Run again from here
                    </Button>
                  )
                }
              />
            ))}
          </Panel>
        </div>
        <div className="grid items-start gap-4 lg:grid-cols-2">
          <Panel title="Input">
            <JsonView value={run.input} name="input.json" />
          </Panel>
          <Panel title="Output">
            {run.output === null ? <p className="text-sm text-soft">No output.</p> : <OutputView value={run.output} />}
          </Panel>
        </div>
        <Details run={run} />
      </div>
    </>
  )
}

/** What a run waits for, with links to what a person can do about it. */
function Waits({ run }: { run: WorkflowRunDetail }) {
  const { pending_approvals, awaited_events, wakes_at, status } = run
  if (status !== 'waiting') return null
  return (
    <div role="status" className="space-y-1 rounded-md border border-warn/50 bg-warn-wash px-3 py-2 text-sm">
      {pending_approvals.map(({ approval_id, step }) => (
        <p key={approval_id}>
          {step} waits for approval.{' '}
          <a href={`/approvals/${approval_id}`} className="text-accent underline">
            Open approval
          </a>
        </p>
      ))}
      {awaited_events.map(({ name, step, expires_at }) => (
        <p key={step}>
          {step} waits for the event <code className="font-mono text-xs">{name}</code>
          {expires_at && ` until ${exactly(expires_at)}`}.
        </p>
      ))}
      {pending_approvals.length + awaited_events.length === 0 && (
        <p>{wakes_at ? `It continues at ${exactly(wakes_at)}.` : 'It waits for a connection or another run.'}</p>
      )}
    </div>
  )
}

function Changes({ run }: { run: WorkflowRunDetail }) {
  const path = { workflow_run_id: run.id }
  const cancel = useAction(() => ask(qm.workflowRuns.cancelWorkflowRun({ path })), { changes })
  const resume = useAction(() => ask(qm.workflowRuns.resumeWorkflowRun({ path })), { changes })
  const mayCancel = useMay('workflow-runs:CancelWorkflowRun')
  const mayResume = useMay('workflow-runs:ResumeWorkflowRun')
  return (
    <>
      {mayCancel && isUnderWay(run.status) && (
        <ConfirmButton
          label="Cancel run"
          title="Cancel this run?"
          confirm="Cancel run"
          onConfirm={() => cancel.runAsync()}
        >
          Calls in progress are aborted. The effects of completed calls are not undone.
        </ConfirmButton>
      )}
      {mayResume && (run.status === 'failed' || run.status === 'cancelled') && (
        <Button busy={resume.busy} onClick={() => resume.run()}>
          Resume
        </Button>
      )}
      <ErrorNotice error={resume.error} />
    </>
  )
}

function Details({ run }: { run: WorkflowRunDetail }) {
  const link = 'font-mono text-xs break-all text-accent hover:underline'
  const took = run.completed_at ? duration(Date.parse(run.completed_at) - Date.parse(run.created_at)) : 'in progress'
  return (
    <Panel title="Details">
      <Facts
        facts={[
          ['Started', exactly(run.created_at)],
          ['Duration', took],
          ['Started by', run.started_by.name],
          ...(run.tool_id
            ? [
                [
                  'Workflow',
                  <Link
                    key="tool"
                    to="/tools/$toolId"
                    params={{ toolId: run.tool_id }}
                    search={{ tab: 'graph' }}
                    className="text-accent hover:underline"
                  >
                    {run.name}
                  </Link>,
                ] as const,
              ]
            : []),
          ...(run.call_id
            ? [
                [
                  'Call record',
                  <Link key="call" to="/calls/$callId" params={{ callId: run.call_id }} className={link}>
                    {run.call_id}
                  </Link>,
                ] as const,
              ]
            : []),
          ...(run.rerun_of
            ? [
                [
                  'Outputs from',
                  <Link key="from" to="/workflows/$runId" params={{ runId: run.rerun_of }} className={link}>
                    {run.rerun_of}
                  </Link>,
                ] as const,
              ]
            : []),
        ]}
      />
    </Panel>
  )
}
