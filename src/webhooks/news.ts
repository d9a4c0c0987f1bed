import type { JsonObject } from '../lib/json.ts'
import type { Approval } from '../model/approval.ts'
import type { GenerationResult } from '../model/generation.ts'
import type { Run } from '../store/generations.ts'
import type { Webhooks } from './webhooks.ts'

type Teller = Pick<Webhooks, 'tell'>

/** A run that rests is news, once for each thing that it rests for. */
export async function tellOfRun(run: Run, result: GenerationResult, webhooks: Teller): Promise<void> {
  if (run.status === 'in_progress' || run.status === 'cancelled') return
  const { tool_calls = [], approvals = [] } = result.required_action ?? {}
  const waiting = [...tool_calls.map((call) => call.tool_call_id), ...approvals.map((one) => one.approval_id)]
  const key = `${run.id}/${run.status}/${run.steps}/${waiting.join()}`
  await webhooks.tell(run.project_id, `generation.${run.status}`, result as unknown as JsonObject, { key })
}

/** Reviewers hear of it as soon as can be. Its secrets are hidden by then. */
export const tellOfApproval = (approval: Approval, webhooks: Teller): Promise<void> =>
  webhooks.tell(approval.project_id, 'approval.requested', approval as unknown as JsonObject, { key: approval.id })
