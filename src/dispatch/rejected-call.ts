import { isSecretField } from '../credentials/names.ts'
import { hidden } from '../credentials/redactor.ts'
import { isTooDeep, type Json, type JsonObject, maxJsonDepth } from '../lib/json.ts'
import type { PlatformError } from '../model/errors.ts'
import type { Action } from '../model/tool.ts'
import type { Calls } from '../store/calls.ts'
import type { ToolRecord } from '../store/tools.ts'
import type { ToolType } from '../tools/tool-type.ts'
import type { CallRequest } from './call.ts'
import { CallRecord } from './record.ts'

/** A call that is rejected before dispatch: no tool has this name, or its arguments cannot be parsed. */
export interface RejectedCall extends Omit<CallRequest, 'toolId' | 'action' | 'input'> {
  /** Null for a key without a project. */
  readonly projectId: string | null
  /** The tool, if it is known. Otherwise the name of the tool that rejected the call, such as `EXECUTE_ACTION`. */
  readonly target: RejectedTarget | string
  /** The arguments as they were sent, in any form. */
  readonly input: unknown
}

export interface RejectedTarget {
  readonly tool: ToolRecord
  readonly type: ToolType
  readonly action?: Action | undefined
}

/** Records an attempt that never became a call. */
export async function recordAttempt(calls: Calls, attempt: RejectedCall, error: PlatformError): Promise<void> {
  const { target, projectId, input, ...request } = attempt
  const record = new CallRecord(calls, {
    ...request,
    toolId: '',
    action: undefined,
    input: readable(input as Json) as JsonObject,
  })
  if (typeof target === 'string') record.internal(projectId, target)
  else record.found(target.tool, target.type, target.action)
  await record.fail(error)
}

/** Parses text that contains JSON, so that secrets are recognized by their field names. */
function readable(input: Json): Json {
  if (typeof input === 'string') return readText(input)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input
  const { input_payload: payload } = input
  return typeof payload === 'string' ? { ...input, input_payload: readText(payload) } : input
}

function readText(text: string): Json {
  if (isTooDeep(text)) return `(nested more than ${maxJsonDepth} deep)`
  try {
    return JSON.parse(text)
  } catch {
    return withoutSecrets(text)
  }
}

const assignment = /(["']?)([\w-]{1,64})\1\s*[:=]\s*("(?:[^"\\]|\\.)*"?|'[^']*'?|[^\s,;&}]+)/g

/** In text that is not quite JSON, finds secret values by the names before them. */
const withoutSecrets = (text: string): string =>
  text.replaceAll(assignment, (whole: string, _quote: string, name: string, value: string) =>
    isSecretField(name) ? `${whole.slice(0, whole.length - value.length)}${hidden}` : whole,
  )
