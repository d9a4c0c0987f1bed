import type { Authorization } from '../credentials/connections/authorization.ts'
import type { Redactor } from '../credentials/redactor.ts'
import type { Json } from '../lib/json.ts'
import type { Live } from '../model/call.ts'
import { PlatformError } from '../model/errors.ts'
import { Waiting } from '../model/outcome.ts'
import type { Output } from '../model/tool.ts'
import type { ToolDeps } from '../tools/tool-type.ts'
import type { ApprovedCall, ValidCall } from './call.ts'

const defaultTimeoutSeconds = 60

/**
 * Runs the tool type's `execute` with the tool's timeout. A service may echo the credentials it receives, so they are
 * redacted from everything that the caller gets: results, errors, progress, logs and elicitations.
 */
export function execute(
  call: ApprovedCall,
  authorization: Authorization | undefined,
  deps: ToolDeps,
): Promise<Output | Waiting> {
  const { redactor } = call.entry.filled
  const hasNoSecrets = redactor.isEmpty && (authorization === undefined || authorization.redactors.length === 0)
  return hasNoSecrets ? run(call, authorization, deps) : redacted(call, authorization, deps)
}

async function redacted(
  call: ApprovedCall,
  authorization: Authorization | undefined,
  deps: ToolDeps,
): Promise<Output | Waiting> {
  // Read when something arrives: tokens may be refreshed during the call.
  const redactors = () => [call.entry.filled.redactor, ...(authorization?.redactors ?? [])]
  try {
    const result = await run({ ...call, live: call.live && redactedLive(call.live, redactors) }, authorization, deps)
    if (result instanceof Waiting) return result
    return redactors().reduce((output, redactor) => redactor.output(output), result)
  } catch (error) {
    throw redactors().reduce((clean, redactor) => redactor.error(clean), error)
  }
}

function redactedLive(live: Live, redactors: () => readonly Redactor[]): Live {
  const redactor = {
    value: <T extends Json>(value: T): T => redactors().reduce((clean, one) => one.value(clean), value),
  }
  const { onProgress, logs, requester } = live
  return {
    ...live,
    ...(onProgress && { onProgress: (progress) => onProgress(redactor.value(progress)) }),
    ...(logs && { logs: { ...logs, send: (message) => logs.send(redactor.value(message as never)) } }),
    ...(requester && {
      requester: {
        ...requester,
        request: (question, signal) => requester.request(redactor.value(question as never), signal),
      },
    }),
  }
}

async function run(
  call: ApprovedCall,
  authorization: Authorization | undefined,
  deps: ToolDeps,
): Promise<Output | Waiting> {
  const { tool, type, filled } = call.entry
  if (!type.execute) throw notRunnable(call)
  const seconds = tool.timeout_seconds ?? defaultTimeoutSeconds
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(new PlatformError('TOOL_TIMEOUT', { seconds })), seconds * 1000)
  const cancel = () => limit.abort(new PlatformError('CALL_CANCELLED', {}))
  const { principal, id: callId, depth, merged: input, live, generation, context, onWait = 'block' } = call
  live?.signal?.addEventListener('abort', cancel)
  try {
    const { action } = call.prepared
    const { signal } = limit
    const timeoutMs = seconds * 1000
    const { home, run } = call
    return await type.execute(
      {
        principal,
        callId,
        depth,
        signal,
        generation,
        context,
        onWait,
        home,
        run,
        tool,
        config: filled.config,
        redactor: filled.redactor,
        authorization,
        action,
        input,
        timeoutMs,
        live,
      },
      deps,
    )
  } finally {
    clearTimeout(timer)
    live?.signal?.removeEventListener('abort', cancel)
  }
}

/** Thrown before the call is recorded as begun, because a call that cannot run here has no outcome to wait for. */
export const notRunnable = ({ entry: { tool, type } }: ValidCall) =>
  new PlatformError('TOOL_CALL_NOT_SUPPORTED', { tool: tool.name, type: type.type })
