import type { JsonObject } from '../lib/json.ts'
import { builtIns, type StepGuide } from '../model/guide.ts'
import type { Run } from '../store/generations.ts'
import type { ModelTool } from './models/model.ts'
import { settingsFor } from './step-settings.ts'
import type { AgentTool, Toolbox } from './toolbox.ts'

/** The tools of a step: those that the settings of the run and the guide both allow. */
export function offeredTools(step: number, run: Run, toolbox: Toolbox, guide: StepGuide | null): AgentTool[] {
  const active = toolbox.active(settingsFor(step, run.settings).activeToolIds)
  const allowed = guide?.actions
  return allowed ? active.filter(({ prepared }) => allowed.includes(prepared.action.id)) : active
}

/** The name that a model calls a built-in tool by. */
export const builtInName = (toolId: string): string => toolId.replace(':', '_')

const descriptions: Readonly<Record<string, string>> = {
  [builtIns.reason]: 'Records the result of the current thinking step.',
  [builtIns.emitOutput]: 'Returns the final output and ends the run.',
}

/** The built-in tools of a step, as the model sees them. Their only parameter is text, as every provider supports. */
export const builtInTools = (guide: StepGuide | null): ModelTool[] =>
  (guide?.built_ins ?? []).map(({ tool_id, schema }) => ({
    name: builtInName(tool_id),
    description: `${descriptions[tool_id]} output_json is JSON text that matches this schema: ${JSON.stringify(schema)}`,
    schema: {
      type: 'object',
      properties: { output_json: { type: 'string', description: 'JSON text' } },
      required: ['output_json'],
    } as JsonObject,
  }))
