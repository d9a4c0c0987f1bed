import { z } from 'zod'
import type { JsonObject } from '../lib/json.ts'
import { Paging, pageOf } from '../model/page.ts'
import type { ToolType } from '../tools/tool-type.ts'
import { formSchema } from './json-schema.ts'
import { operation } from './operation.ts'

export const ToolTypeView = z.object({
  type: z.string(),
  aliases: z.array(z.string()).describe('Other names that a tool can be registered with'),
  title: z.string(),
  description: z.string(),
  many_actions: z.boolean().describe('Whether a tool offers several actions, so that calls must name one'),
  callable: z.boolean().describe('Whether the platform can call its tools. If false, they run in your application'),
  remote_actions: z.boolean().describe('Whether another system has the actions, so that pin_definitions has an effect'),
  refreshable: z.boolean().describe('Whether refresh-tool reads the actions of its tools again'),
  kind: z.enum(['action', 'workflow']).describe('workflow: its tools have runs, see list-workflow-runs'),
  has_health: z.boolean().describe('Whether get-tool-health reports the health of another system for its tools'),
  summary: z.array(z.string()).describe('Paths of the fields that show people what a tool calls'),
  config: z
    .custom<JsonObject>()
    .meta({ type: 'object' })
    .describe('JSON Schema of the fields that only tools of this type have. x-form has hints for drawing a form'),
})

export const listToolTypes = operation({
  name: 'list-tool-types',
  permission: 'tools:ListTools',
  route: 'GET /tool-types',
  summary: 'List tool types, with the fields of each. Every key can call this',
  input: z.strictObject({ ...Paging }),
  output: pageOf(ToolTypeView),
  async run({ limit, offset }, { toolTypes: { all } }) {
    return { data: all.slice(offset, offset + limit).map(view), total: all.length, limit, offset }
  },
})

const view = (type: ToolType): z.infer<typeof ToolTypeView> => ({
  type: type.type,
  aliases: [...(type.aliases ?? [])],
  title: type.title,
  description: type.description,
  many_actions: type.many,
  callable: type.execute !== undefined,
  remote_actions: type.lifetime !== undefined,
  refreshable: type.refresh !== undefined,
  kind: type.kind ?? 'action',
  has_health: type.health !== undefined,
  summary: [...(type.summary ?? [])],
  config: formSchema(type.config),
})
