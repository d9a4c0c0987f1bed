import type { PreparedAction, ToolEntry } from '../catalogue/catalogue.ts'
import { findByName } from '../catalogue/names.ts'
import { orDidYouMean } from '../lib/nearest.ts'
import { PlatformError } from '../model/errors.ts'
import type { ToolRecord } from '../store/tools.ts'
import type { ToolType } from '../tools/tool-type.ts'
import { requireCall } from './authorize.ts'
import type { CallRequest, ResolvedCall } from './call.ts'

/** The part of the call record that is set when the tool is known but the action is not. */
interface Recorded {
  found(tool: ToolRecord, type: ToolType): void
}

/** Finds the action to call. Does not check the project of the tool: the next step, `authorize`, does. */
export function resolve(request: CallRequest, entry: ToolEntry | undefined, record?: Recorded): ResolvedCall {
  if (!entry) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'tool', id: request.toolId })
  return { ...request, entry, prepared: offerOf(entry, request, record) }
}

function offerOf(entry: ToolEntry, request: CallRequest, record?: Recorded): PreparedAction {
  const { action: name, principal, isMethod } = request
  const { tool, type } = entry
  const actions = isMethod ? entry.methods : entry.actions
  const wrong = (message: string) => {
    // The error lists actions, so the caller must be allowed to call the tool.
    requireCall(principal, tool)
    record?.found(tool, type)
    return new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'action', message }] })
  }
  const [only] = actions.values()
  if (name === undefined) {
    if (!type.many && only) return only
    throw wrong(`is missing: "${tool.name}" has ${quoted([...actions.keys()])}`)
  }
  const [found, another] = findByName(actions, name)
  if (found && another) throw wrong(`"${name}" could be "${found.action.name}" or "${another.action.name}"`)
  if (found) return found
  const known = [...actions.keys()]
  throw wrong(`"${tool.name}" has no action "${name}"${orDidYouMean(name, known) || `; it has ${quoted(known)}`}`)
}

const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(' or ')
