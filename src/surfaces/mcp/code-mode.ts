import { z } from 'zod'
import type { JsonObject } from '../../lib/json.ts'
import type { Live } from '../../model/call.ts'
import { PlatformError } from '../../model/errors.ts'
import { Waiting } from '../../model/outcome.ts'
import { Id } from '../../model/page.ts'
import type { Output } from '../../model/tool.ts'
import { parseInput } from '../../operations/operation.ts'
import { outcomeResult } from './agent-mode.ts'
import { inputSchemaOf } from './listing.ts'
import { type ToolResult, textResult } from './results.ts'
import type { ServerRequest } from './server-request.ts'

const Code = z
  .strictObject({
    code: z
      .string()
      .min(1)
      .max(100_000)
      .optional()
      .describe(
        'TypeScript, the body of an async function. call("app:action", input) calls an action and returns a promise of its output; return the result. There is no network, clock, randomness or import.',
      ),
    run_id: Id.optional().describe('Instead of code: wait for a program that was still running'),
  })
  .refine(({ code, run_id }) => (code === undefined) !== (run_id === undefined), 'needs either code or run_id')

export const codeTool: JsonObject = {
  name: 'EXECUTE_CODE',
  description:
    'Runs a TypeScript program that calls the actions of this server, so that many calls need only one step. Use await call("app:action", {…}) for each action, with the types from RESOLVE_ACTIONS if it is there, and return what you need. Limits: 200 calls, 30 seconds of computing, 64 MB. If a call needs approval, the program waits: you get a run_id, and continue with EXECUTE_CODE {"run_id": "…"}.',
  inputSchema: inputSchemaOf(Code),
}

/** How long a request waits for a program. It goes on afterwards. */
const waitMs = 60_000

export function executeCode(input: JsonObject, request: ServerRequest, live: Live): Promise<ToolResult> {
  return request.internal('EXECUTE_CODE', input, async (callId) => {
    try {
      const { code, run_id } = parseInput(Code, input)
      const id = run_id === undefined ? await request.startCode(code as string, callId) : await request.findCode(run_id)
      return await outcomeResult({ callId, output: await outputOf(id, request, live) }, request)
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      return textResult(JSON.stringify({ success: false, error: error.message, ...waitingFor(error) }), true)
    }
  })
}

async function outputOf(id: string, request: ServerRequest, { signal }: Live): Promise<Output> {
  const timeout = AbortSignal.timeout(waitMs)
  const cancel = () => void request.cancelCode(id)
  signal?.addEventListener('abort', cancel)
  try {
    const result = await request.codeOutcome(id, timeout)
    if (result instanceof Waiting) throw new PlatformError('INTERNAL', {})
    return result
  } finally {
    signal?.removeEventListener('abort', cancel)
  }
}

const waitingFor = (error: PlatformError): JsonObject => {
  if (error.code !== 'WORKFLOW_RUNNING') return {}
  const { run_id, status } = (error as PlatformError<'WORKFLOW_RUNNING'>).details
  return { status, run_id, next: 'Call EXECUTE_CODE with this run_id to wait for the result.' }
}
