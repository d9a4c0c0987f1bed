import type { Redactor } from '../credentials/redactor.ts'
import { redactorOf } from '../credentials/tool-secrets.ts'
import type { Live } from '../model/call.ts'
import { PlatformError } from '../model/errors.ts'
import type { Output } from '../model/tool.ts'
import type { Reach } from '../tools/tool-type.ts'
import type { Approved, Valid } from './call.ts'

const defaultTimeoutSeconds = 60

/**
 * Runs the type's one function, under the tool's time limit. A service may echo the credentials that we send it, so they are
 * taken out of everything that it tells our callers: its result, errors, progress, logs and questions.
 */
export async function execute(call: Approved, reach: Reach): Promise<Output> {
  const redactor = redactorOf(call.entry.tool)
  if (redactor.isEmpty) return run(call, reach)
  try {
    return redactor.output(await run({ ...call, live: call.live && redactedLive(call.live, redactor) }, reach))
  } catch (error) {
    throw redactor.error(error)
  }
}

function redactedLive(live: Live, redactor: Redactor): Live {
  const { onProgress, logs, asking } = live
  return {
    ...live,
    ...(onProgress && { onProgress: (progress) => onProgress(redactor.value(progress)) }),
    ...(logs && { logs: { ...logs, tell: (message) => logs.tell(redactor.value(message as never)) } }),
    ...(asking && {
      asking: { ...asking, ask: (question, signal) => asking.ask(redactor.value(question as never), signal) },
    }),
  }
}

async function run(call: Approved, reach: Reach): Promise<Output> {
  const { tool, type } = call.entry
  if (!type.execute) throw notRunnable(call)
  const seconds = tool.timeout_seconds ?? defaultTimeoutSeconds
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(new PlatformError('TOOL_TIMEOUT', { seconds })), seconds * 1000)
  const cancel = () => limit.abort(new PlatformError('CALL_CANCELLED', {}))
  const { principal, id: callId, depth, merged: input, live, generation, context, patience = 'waits' } = call
  live?.signal?.addEventListener('abort', cancel)
  try {
    const { action } = call.offer
    const { signal } = limit
    const asker = { principal, callId, depth, signal, generation, context, patience, home: call.home }
    return await type.execute(Object.assign(asker, { tool, action, input, timeoutMs: seconds * 1000, live }), reach)
  } finally {
    clearTimeout(timer)
    live?.signal?.removeEventListener('abort', cancel)
  }
}

/** Thrown before anything is recorded as begun: a call that cannot run here has no outcome to wait for. */
export const notRunnable = ({ entry: { tool, type } }: Valid) =>
  new PlatformError('TOOL_CALL_NOT_SUPPORTED', { tool: tool.name, type: type.type })
