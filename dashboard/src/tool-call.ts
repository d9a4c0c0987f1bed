import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { type Approval, ask, type Body, Failure, qm } from './api.ts'
import { useAction } from './use-action.ts'

export interface ToolCall {
  readonly toolId: string
  readonly body: Body<'tools', 'callTool'>
}

interface Answer {
  readonly call: ToolCall
  readonly output: unknown
  /** In milliseconds. */
  readonly took: number
  /** The approval that the call is waiting for. */
  readonly approvalId: string | undefined
}

/** Calls a tool. If the call needs approval, waits for it and then makes the call again. */
export function useToolCall(changes: readonly string[]) {
  const { run, busy, error, data } = useAction(make, { changes })
  const approval = useApproval(data?.approvalId)
  const made = useRef<string>(undefined)
  useEffect(() => {
    if (approval?.status !== 'approved' || made.current === approval.id || !data) return
    // An approval covers one call, so it must be used once, however often this renders.
    made.current = approval.id
    run(data.call)
  }, [approval, data, run])
  const waits = data?.approvalId !== undefined && { id: data.approvalId, approval }
  return { run, busy, error, answer: waits ? undefined : data, waits: waits || undefined }
}

async function make(call: ToolCall): Promise<Answer> {
  const began = performance.now()
  const { toolId, body } = call
  const outcome = await qm.tools.callTool({ path: { tool_id: toolId }, body: { ...body, wait: false } })
  const { data: output, error, response } = outcome
  if (error) throw new Failure(error, response?.status)
  // A response of the tool itself is never a 202.
  const { approval_id } = (response?.status === 202 ? output : {}) as { approval_id?: string }
  return { call, output, took: performance.now() - began, approvalId: approval_id }
}

/** Polls the approval. The caller may read it even without access to the stream of approvals. */
function useApproval(id: string | undefined): Approval | undefined {
  const { data } = useQuery({
    queryKey: ['approval', id],
    enabled: id !== undefined,
    queryFn: () => ask(qm.approvals.getApproval({ path: { approval_id: id ?? '' } })),
    refetchInterval: ({ state }) => (state.data === undefined || state.data.status === 'pending' ? 1000 : false),
  })
  return data
}
