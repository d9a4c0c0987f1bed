import { Redactor } from '../credentials/redactor.ts'
import { secretPresets } from '../credentials/sealed-config.ts'
import type { ToolRecord } from '../store/tools.ts'
import type { ToolType } from './tool-type.ts'

const known = new WeakMap<object, Redactor>()

/** Redacts a tool's credentials in what its callers see. Created once per record. */
export function redactorOf(tool: ToolRecord, type: ToolType): Redactor {
  let redactor = known.get(tool)
  if (!redactor) {
    redactor = new Redactor([...type.secrets(tool.config), ...secretPresets(tool.preset_parameters)])
    known.set(tool, redactor)
  }
  return redactor
}
