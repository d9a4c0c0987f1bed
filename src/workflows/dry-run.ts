import type { Catalogue } from '../catalogue/catalogue.ts'
import type { JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import type { StoredRun } from '../store/workflow-runs.ts'
import { innerWorkflow } from '../tools/workflow/safety.ts'
import { newRun, type Starter, settingsOf, type WorkflowRunner } from './runner.ts'

/**
 * Starts a run that makes only calls that change nothing. It is not a call of the workflow, so it has no record of its
 * own; the calls that it makes do.
 */
export async function startDryRun(
  toolId: string,
  input: StoredRun['input'],
  starter: Starter,
  { workflows, catalogue }: { readonly workflows: WorkflowRunner; readonly catalogue: Catalogue },
): Promise<StoredRun> {
  const entry = await catalogue.find(toolId)
  const [prepared] = entry?.actions.values() ?? []
  if (!entry || !prepared) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'tool', id: toolId })
  const whole = { ...input, ...prepared.presets }
  const errors = await prepared.check()(whole)
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
  const { tool, filled } = entry
  const definition = innerWorkflow({ type: tool.type, config: filled.config })
  if (!definition) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'workflow', id: toolId })
  return workflows.start({
    ...newRun({ ...starter, projectId: tool.project_id }),
    ...{ kind: 'workflow', dry_run: true, tool_id: tool.id, name: tool.name, input: whole },
    settings: { ...settingsOf(starter), definition: definition as unknown as JsonObject },
  })
}
