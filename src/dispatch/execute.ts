import { PlatformError } from '../model/errors.ts'
import type { Output } from '../model/tool.ts'
import type { Reach } from '../tools/tool-type.ts'
import type { Approved } from './call.ts'

export const defaultTimeoutSeconds = 60

/** Runs the type's one function, under the tool's time limit. */
export async function execute(call: Approved, reach: Reach): Promise<Output> {
  const { tool, type } = call.entry
  if (!type.execute) throw notRunnable(call)
  const seconds = tool.timeout_seconds ?? defaultTimeoutSeconds
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(new PlatformError('TOOL_TIMEOUT', { seconds })), seconds * 1000)
  try {
    const { principal, id: callId, depth, merged: input } = call
    return await type.execute(
      {
        tool,
        action: call.offer.action,
        input,
        signal: limit.signal,
        timeoutMs: seconds * 1000,
        principal,
        callId,
        depth,
      },
      reach,
    )
  } finally {
    clearTimeout(timer)
  }
}

/** Thrown before anything is recorded as begun: a call that cannot run here has no outcome to wait for. */
export const notRunnable = ({ entry: { tool, type } }: Approved) =>
  new PlatformError('TOOL_CALL_NOT_SUPPORTED', { tool: tool.name, type: type.type })
