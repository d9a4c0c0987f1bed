import { isSecretField } from '../approvals/sensitive.ts'
import { hidden } from '../credentials/redactor.ts'
import { deepestJson, isTooDeep, type Json, type JsonObject } from '../lib/json.ts'
import type { PlatformError } from '../model/errors.ts'
import type { Action } from '../model/tool.ts'
import type { Calls } from '../store/calls.ts'
import type { ToolRecord } from '../store/tools.ts'
import type { Asked } from './call.ts'
import { CallRecord } from './record.ts'

/** A call that is refused before the door: no tool has its name, or its arguments cannot be read. */
export interface Attempt extends Omit<Asked, 'toolId' | 'action' | 'input'> {
  /** Where the attempt was made; null for a key of no project. */
  readonly projectId: string | null
  /** What was called, where that is known; else the name of what refused it, as in `EXECUTE_ACTION`. */
  readonly target: { readonly tool: ToolRecord; readonly action?: Action | undefined } | string
  /** What was sent, whatever it is. */
  readonly input: unknown
}

/** Every attempt is in the record, also one that never became a call. */
export async function recordAttempt(calls: Calls, attempt: Attempt, error: PlatformError): Promise<void> {
  const { target, projectId, input, ...asked } = attempt
  const record = new CallRecord(calls, {
    ...asked,
    toolId: '',
    action: undefined,
    input: readable(input as Json) as JsonObject,
  })
  if (typeof target === 'string') record.aside(projectId, target)
  else record.found(target.tool, target.action)
  await record.fail(error)
}

/** Text that is JSON is recorded as what it says, so that secrets are recognized by their names. */
function readable(input: Json): Json {
  if (typeof input === 'string') return readText(input)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input
  const { input_payload: payload } = input
  return typeof payload === 'string' ? { ...input, input_payload: readText(payload) } : input
}

function readText(text: string): Json {
  if (isTooDeep(text)) return `(nested more than ${deepestJson} deep)`
  try {
    return JSON.parse(text)
  } catch {
    return withoutSecrets(text)
  }
}

const assignment = /(["']?)([\w-]{1,64})\1\s*[:=]\s*("(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;&}]+)/g

/** In what is almost JSON, the values of secrets are found by the names before them. */
const withoutSecrets = (text: string): string =>
  text.replaceAll(assignment, (whole: string, _quote: string, name: string, value: string) =>
    isSecretField(name) ? `${whole.slice(0, whole.length - value.length)}${hidden}` : whole,
  )
