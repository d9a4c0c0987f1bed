import { z } from 'zod'
import type { Json, JsonObject } from '../../lib/json.ts'
import { Text } from '../../model/page.ts'
import { orJsonText } from '../../model/tool.ts'
import { formHints } from '../form-hints.ts'

const StepId = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be 1 to 64 letters, digits or "_", and not start with a digit')

const ActionId = z
  .string()
  .max(300)
  .regex(/^[^:\s]+:\S.*$/, 'must be the id of an action, such as "crm:create_contact"')

const Values = z.custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
  error: 'must be an object',
})

const Compensation = z.strictObject({
  call: ActionId.describe('The action to call before the run fails'),
  input: Values.optional().meta({ type: 'object' }),
})

const OnError = z
  .union([
    z.enum(['fail', 'continue']),
    z.strictObject({ output: z.custom<Json>((value) => value !== undefined) }),
    Compensation,
  ])
  .describe(
    'fail ends the run; continue goes on, with steps.<id>.error set; {output} goes on with this output; {call, input} calls an action that undoes earlier steps, then ends the run',
  )

const Retry = z.strictObject({
  attempts: z.int().min(1).max(10).describe('How often to try again'),
  delay_seconds: z
    .number()
    .min(0)
    .max(86_400)
    .optional()
    .describe('Before the first retry; doubles each time. Default 1'),
})

export const EventName = z
  .string()
  .regex(/^[A-Za-z_][\w.-]{0,63}$/, 'must be 1 to 64 letters, digits, "_", "-" or ".", and start with a letter')

const Schema = z.custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), {
  error: 'must be a JSON Schema object',
})

const WaitFor = z
  .strictObject({
    approval: z
      .union([z.literal(true), z.strictObject({ reason: Text.min(1).max(2000).optional() })])
      .optional()
      .describe('A person must approve the call, even if no other rule requires it'),
    seconds: z
      .union([z.number().min(0).max(31_536_000), z.string().min(1).max(10_000)])
      .optional()
      .describe('Wait this long; a number or an expression'),
    until: z.string().min(1).max(10_000).optional().describe('Wait until this time; an ISO 8601 text or an expression'),
    event: EventName.optional().describe(
      'Wait for an event of this name, sent to POST /workflow-runs/{id}/events. Its data is the output of the step',
    ),
    data: Schema.optional().meta({ type: 'object', description: 'JSON Schema of the data of the event' }),
    timeout_seconds: z
      .union([z.number().min(0).max(31_536_000), z.string().min(1).max(10_000)])
      .optional()
      .describe(
        'How long to wait for the event; a number or an expression. Without it, the run waits until it is cancelled',
      ),
  })
  .refine(
    ({ approval, seconds, until, event }) => [approval, seconds, until, event].some((one) => one !== undefined),
    'must have approval, seconds, until or event',
  )

export const Step = z.strictObject({
  id: StepId.describe('Later steps refer to it: ${{ steps.<id>.output }}'),
  call: ActionId.optional().describe('The action to call: namespace:name'),
  input: Values.optional()
    .meta({ type: 'object' })
    .describe('Arguments of the call; texts can contain ${{ expressions }}'),
  if: z
    .union([z.boolean(), z.string().min(1).max(10_000)])
    .optional()
    .describe('Skip the step unless this is true'),
  for_each: z
    .union([z.string().min(1).max(10_000), z.array(z.custom<Json>()).max(1000)])
    .optional()
    .describe('Make the call for each item of a list, at most 1,000; item and index are set'),
  concurrency: z.int().min(1).max(50).optional().describe('How many items at once. Default 1'),
  retry: Retry.optional().describe('Try again if the call fails'),
  on_error: OnError.optional(),
  wait_for: WaitFor.optional(),
})
export type Step = z.infer<typeof Step>

export const Workflow = orJsonText(
  z.strictObject({
    input: Schema.optional().meta({ type: 'object', description: 'JSON Schema of the input' }),
    steps: z.array(Step).min(1).max(100).describe('Run in this order'),
    output: z
      .custom<Json>()
      .optional()
      .describe('The output: any JSON, with ${{ expressions }}. By default, the output of the last step'),
  }),
)
  .meta({ title: 'Workflow', description: 'Steps that call actions, as one tool' })
  .register(formHints, {
    control: 'schema',
    initial: { input: { type: 'object', properties: {} }, steps: [] },
    last: true,
  })
export type Workflow = z.infer<typeof Workflow>

export interface WorkflowConfig {
  readonly workflow: Workflow
}

/** The JSON Schema of the input. */
export const inputSchemaOf = ({ input }: Workflow): JsonObject => ({ type: 'object', properties: {}, ...input })
