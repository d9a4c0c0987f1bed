import { canonical } from '../lib/canonical.ts'
import { PlatformError } from '../model/errors.ts'
import { isOver } from '../model/generation.ts'
import type { GivenOutput, Run, SubmittedOutput } from '../store/generations.ts'
import type { JournalCall } from '../store/journal.ts'

/** A run with its calls. It may be one that another run waits for. */
export interface RunWithCalls {
  readonly run: Run
  readonly calls: readonly JournalCall[]
}

/** Finds the call of each output. Submitting the same output again is allowed, a different one is an error. */
export function callsFor(outputs: readonly SubmittedOutput[], lines: readonly RunWithCalls[], run: Run): GivenOutput[] {
  const seen = new Map<JournalCall, SubmittedOutput>()
  return outputs.map((given, index) => {
    const { tool_call_id, output, is_error } = given
    const refuse = (message: string) =>
      new PlatformError('VALIDATION_FAILED', {
        errors: [{ path: `tool_outputs[${index}].tool_call_id`, message: `"${tool_call_id}" ${message}` }],
      })
    const call = callFor(given, lines, refuse)
    if (!call) {
      const pending = lines.flatMap(openCalls).map((one) => `"${one.tool_call_id}"`)
      if (pending.length === 0) {
        const { id: generation_id, status, error } = run
        throw new PlatformError('GENERATION_NOT_FOUND', { generation_id, status, error_code: error?.code })
      }
      throw refuse(`is not waiting for an output. Waiting: ${pending.join(', ')}`)
    }
    const before = seen.get(call)
    if (before && canonical(before.output) !== canonical(output)) throw refuse('is listed twice with different outputs')
    seen.set(call, given)
    if (call.output !== undefined && canonical(call.output) !== canonical(output)) {
      throw new PlatformError('OUTPUT_GIVEN', { tool_call_id })
    }
    return { ...call, output, is_error }
  })
}

/** Prefers a call that still waits to one that already has its output. Calls of different runs may share an id. */
function callFor(
  { tool_call_id, generation_id }: SubmittedOutput,
  lines: readonly RunWithCalls[],
  refuse: (message: string) => PlatformError,
): JournalCall | undefined {
  const own = lines.filter(({ run }) => generation_id === undefined || run.id === generation_id)
  const [open, another] = own.flatMap(openCalls).filter((call) => call.tool_call_id === tool_call_id)
  if (another) throw refuse('is waiting in several runs: set "generation_id" as in required_action')
  if (open) return open
  return own
    .flatMap(({ calls }) => calls)
    .find((call) => call.tool_call_id === tool_call_id && call.awaits?.kind === 'client' && call.output !== undefined)
}

/** Calls of client tools that a run still waits for. */
const openCalls = ({ run, calls }: RunWithCalls): JournalCall[] =>
  isOver(run.status) ? [] : calls.filter(({ output, awaits }) => output === undefined && awaits?.kind === 'client')
