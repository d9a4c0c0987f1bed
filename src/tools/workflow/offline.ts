import type { PlacedFault } from '../../expressions/template.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import type { KnownAction } from './actions.ts'
import { checkWorkflow, type FindAction } from './check.ts'
import { inputSchemaOf, Workflow } from './definition.ts'

/** A tool as a project file has it. */
export interface DraftTool {
  readonly app: string | undefined
  readonly name: string
  readonly fields: Readonly<Record<string, unknown>>
}

export interface CheckedDraft {
  readonly draft: DraftTool
  readonly faults: readonly PlacedFault[]
}

/**
 * Checks the workflows of a project file without a platform. Actions that are not in the file are not checked: they may
 * exist on the platform.
 */
export async function checkDrafts(drafts: readonly DraftTool[]): Promise<CheckedDraft[]> {
  const find: FindAction = async (id) => {
    const draft = drafts.find(({ app = 'tools', name }) => `${app}:${name}` === id)
    return (draft && knownFrom(draft)) ?? 'unchecked'
  }
  const checked: CheckedDraft[] = []
  for (const draft of drafts) {
    const workflow = workflowIn(draft)
    if (!workflow) continue
    const { faults } = await checkWorkflow(workflow, find)
    checked.push({ draft, faults })
  }
  return checked
}

function workflowIn({ fields }: DraftTool): Workflow | undefined {
  return fields.type === 'workflow' ? Workflow.safeParse(fields.workflow).data : undefined
}

/** What the file says about the action of a tool. */
function knownFrom(draft: DraftTool): KnownAction | undefined {
  const { type = 'http', parameters, execute } = draft.fields
  const workflow = workflowIn(draft)
  const isSimple = type === 'http' || type === 'client'
  const schema = workflow ? inputSchemaOf(workflow) : isSimple && isObject(parameters) ? parameters : undefined
  if (!schema) return undefined
  const method = isObject(execute) ? String(execute.method ?? 'POST').toUpperCase() : 'POST'
  return {
    ...{ toolId: '', name: draft.name, outputSchema: undefined, level: 'open', idempotent: false, destructive: true },
    schema: withoutPresets(schema, draft.fields.preset_parameters),
    readOnly: type === 'http' && (method === 'GET' || method === 'HEAD'),
    resumable: false,
    callable: type !== 'client',
  }
}

function withoutPresets(schema: JsonObject, presets: unknown): JsonObject {
  if (!isObject(presets) || !isObject(schema.properties)) return schema
  const isFree = (name: unknown) => !Object.hasOwn(presets, String(name))
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(schema.properties).filter(([name]) => isFree(name))),
    ...(Array.isArray(schema.required) && { required: schema.required.filter(isFree) }),
  }
}
