import { z } from 'zod'
import { When } from '../../model/replay-script.ts'

/** A message that arrives while the agent is busy. */
const Meanwhile = z.strictObject({
  customer: z.string(),
  after_text: z
    .string()
    .min(1)
    .optional()
    .describe('Once the agent has begun to say this; without it, before any text'),
})
export type Meanwhile = z.infer<typeof Meanwhile>

/** An answer of the model, used once unless `times` says otherwise. */
const ScriptedAnswer = z.strictObject({
  name: z.string().optional(),
  when: When.default({}).describe('Which request it answers, as in a replay script'),
  answer: z.unknown().optional().describe('As in a replay script'),
  json: z.unknown().optional().describe('The answer as a value, sent as JSON text'),
  times: z.union([z.int().min(0), z.literal('any')]).default(1),
  prompt_contains: z.array(z.string()).default([]).describe('Texts that the prompt must contain'),
  prompt_lacks: z.array(z.string()).default([]),
  meanwhile: Meanwhile.optional().describe('A message that arrives while the model answers'),
})
export type ScriptedAnswer = z.infer<typeof ScriptedAnswer>

const Expected = z
  .strictObject({
    message: z.union([z.string(), z.strictObject({ contains: z.string() })]).optional(),
    tool: z.string().optional(),
    arguments: z.unknown().optional(),
    result: z.unknown().optional(),
    is_error: z.boolean().optional(),
  })
  .refine(
    ({ message, tool }) => (message === undefined) !== (tool === undefined),
    'must have either "message" or "tool"',
  )
export type Expected = z.infer<typeof Expected>

const Turn = z
  .strictObject({
    customer: z.string().optional(),
    inject: z
      .strictObject({
        tool_id: z.string(),
        arguments: z.unknown().optional(),
        result: z.unknown(),
        trigger_processing: z.boolean().optional(),
      })
      .optional(),
    metadata: z.record(z.string(), z.unknown()).optional().describe('Changes the session’s metadata before the turn'),
    expect: z.array(Expected).optional().describe('What the agent does, in order: its messages and tool calls'),
    model_calls: z.int().min(0).optional(),
    policies: z.array(z.string()).optional().describe('The policies that apply in the last step'),
    nodes: z.array(z.string()).optional().describe('Where the session is afterwards: routine/node'),
    step_outputs: z.record(z.string(), z.unknown()).optional(),
    statuses: z.array(z.string()).optional(),
  })
  .refine(({ customer, inject }) => customer !== undefined || inject !== undefined, 'must have "customer" or "inject"')
export type Turn = z.infer<typeof Turn>

const StubTool = z.strictObject({
  description: z.string().optional(),
  input_schema: z.record(z.string(), z.unknown()).optional(),
  results: z.array(z.unknown()).default([]).describe('One for each call; the last one repeats. {error: text} fails'),
  meanwhile: Meanwhile.omit({ after_text: true })
    .optional()
    .describe('A message that arrives while the tool runs, the first time'),
})
export type StubTool = z.infer<typeof StubTool>

/** A test of an agent: what customers say, what the model answers, and what must happen. */
export const Scenario = z.strictObject({
  name: z.string().optional(),
  manifest: z
    .union([z.string(), z.record(z.string(), z.unknown())])
    .describe('A file beside this one, or the manifest'),
  runtime: z.record(z.string(), z.unknown()).optional().describe('Overrides agent_config.runtime of the manifest'),
  context: z.record(z.string(), z.unknown()).optional().describe('Overrides fields of agent_config.context'),
  secrets: z.record(z.string(), z.string()).default({}),
  servers: z
    .record(z.string(), z.record(z.string(), StubTool.nullable()))
    .default({})
    .describe('Stands in for MCP servers of the manifest, by id'),
  session: z
    .strictObject({ end_user_id: z.string().optional(), metadata: z.record(z.string(), z.unknown()).optional() })
    .default({}),
  model: z.array(ScriptedAnswer).default([]),
  turns: z.array(Turn).min(1),
})
export type Scenario = z.infer<typeof Scenario>
