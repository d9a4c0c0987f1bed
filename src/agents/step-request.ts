import type { ToolChoice } from '../model/agent.ts'
import type { StepGuide } from '../model/guide.ts'
import type { Run } from '../store/generations.ts'
import type { Journal } from '../store/journal.ts'
import type { ModelRequest, ModelTool } from './models/model.ts'
import { builtInTools, offeredTools } from './offered.ts'
import { settingsFor } from './step-settings.ts'
import type { Toolbox } from './toolbox.ts'
import { transcript, withGuidance } from './transcript.ts'

/** What a step asks the model. */
export function requestFor(
  run: Run,
  number: number,
  journal: Journal,
  { toolbox, guide }: { readonly toolbox: Toolbox; readonly guide: StepGuide | null },
): Pick<ModelRequest, 'messages' | 'tools' | 'toolChoice' | 'temperature'> {
  const tools = [
    ...offeredTools(number, run, toolbox, guide).map(({ name, prepared }) => ({
      name,
      description: prepared.action.description,
      schema: prepared.publicSchema,
    })),
    ...builtInTools(guide),
  ]
  return {
    messages: withGuidance(transcript(run, journal), guide?.guidance ?? null),
    tools,
    toolChoice: choiceAmong(tools, guide ? guidedChoice(guide) : settingsFor(number, run.settings).toolChoice),
    temperature: run.settings.temperature,
  }
}

const guidedChoice = ({ must_call, last }: StepGuide): ToolChoice =>
  last ? 'none' : must_call === null ? 'auto' : { type: 'tool', tool_name: must_call }

/** Falls back to `auto` if the chosen tool is missing: its server may be down. */
function choiceAmong(tools: readonly ModelTool[], choice: ToolChoice): ModelRequest['toolChoice'] {
  if (tools.length === 0) return 'auto'
  if (typeof choice === 'string') return choice
  return tools.some(({ name }) => name === choice.tool_name) ? { tool_name: choice.tool_name } : 'auto'
}
