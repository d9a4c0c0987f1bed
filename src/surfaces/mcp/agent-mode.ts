import { z } from 'zod'
import { shownSchema } from '../../catalogue/presets.ts'
import type { ServerAction } from '../../catalogue/server-catalogue.ts'
import { excessOf, isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { orDidYouMean } from '../../lib/nearest.ts'
import type { Live } from '../../model/call.ts'
import { PlatformError } from '../../model/errors.ts'
import { dataOf } from '../../model/output-data.ts'
import type { Server } from '../../model/server.ts'
import type { Output } from '../../model/tool.ts'
import { parseInput } from '../../operations/operation.ts'
import { Requests } from '../../operations/resolve.ts'
import { answerOf, maxAnswers } from '../../search/answer.ts'
import type { ActionMatches } from '../../search/resolver.ts'
import type { RecordedInput } from '../../store/calls.ts'
import { hintBudget, withExamples } from './examples.ts'
import { keptIfLarge, type LargeResult } from './large-results.ts'
import { inputSchemaOf } from './listing.ts'
import { defaultBudget, fitPlan, type PlanEntry } from './plan.ts'
import { RecordSources } from './record-sources.ts'
import { recordIfRefused } from './refused.ts'
import { asks, type ToolResult, textBlock, textResult, toResult } from './results.ts'
import { type CallOutput, isOutput, type ServerRequest } from './server-request.ts'
import { signatureOf } from './signatures.ts'
import { type RecentAnswer, withSources } from './sources.ts'

const order =
  'Order of work: if GET_KNOWLEDGE_INDEX is there, browse it first and load what is relevant with LOAD_SKILL; then RESOLVE_ACTIONS; then EXECUTE_ACTION, only after RESOLVE_ACTIONS returned a plan.'

/** The instructions for agents on a server in agent mode. */
export function agentInstructions({ retrieve_skill, result_limit, code_mode }: Server): string {
  const steps = [
    ...(retrieve_skill
      ? [
          'GET_KNOWLEDGE_INDEX: look through the skills, proven procedures for multi-step work.',
          'LOAD_SKILL: if a skill is relevant, load it and follow it.',
        ]
      : []),
    'RESOLVE_ACTIONS: describe each action that the request needs, with its app, one entry each. It returns the slug, identifier, type and json_schema of the actions to run.',
    'EXECUTE_ACTION: run the resolved actions, one call for each. Pass the slug as application_slug, the identifier as action_id, the type, and an input_payload that follows json_schema. Call it only after RESOLVE_ACTIONS returned a plan.',
  ]
  return [
    'Work in this order:',
    ...steps.map((step, index) => `${index + 1}. ${step}`),
    ...(code_mode ? ['For many calls, write one program for EXECUTE_CODE instead of many EXECUTE_ACTION calls.'] : []),
    ...(result_limit === null
      ? []
      : ['If a result is too large, it comes with a result_id: read the rest with READ_RESULT.']),
  ].join('\n')
}

const Resolve = z.strictObject({
  integration_query: z
    .preprocess((value) => (typeof value === 'string' ? [value] : value), Requests)
    .describe(
      'Action descriptions extracted from the user’s request. Each entry describes one action: a short description and the target app, as in "List Contacts Salesforce".',
    ),
  full_schema: z.boolean().optional().describe('Return whole schemas, with the details that a note says are left out'),
})

const payloadWanted = 'must be a JSON object, or a string that contains one'

const Execute = z.strictObject({
  application_slug: z.string().min(1).max(200).describe('The app to run against, from the resolved plan (its slug)'),
  action_id: z
    .string()
    .min(1)
    .max(200)
    .describe('The action or workflow to run, from the resolved plan (its identifier)'),
  input_payload: z
    .union([z.record(z.string(), z.unknown()), z.string()], { error: payloadWanted })
    .describe('Input fields for the action, as a JSON object or as JSON text, following the json_schema of the plan'),
  type: z.enum(['action', 'workflow']).describe('Whether this is an action or a workflow'),
})

/** The two tools that replace all actions of a server in agent mode. */
export const agentTools: readonly JsonObject[] = [
  {
    name: 'RESOLVE_ACTIONS',
    description: `Resolves the user's request to a list of specific actions. Break the request into individual actions, one entry each. Returns a list of {slug, type, identifier, json_schema}, the best match for each entry first and then close alternatives, or a plain sentence when nothing matches. ${order}`,
    inputSchema: inputSchemaOf(Resolve),
    annotations: { readOnlyHint: true },
  },
  {
    name: 'EXECUTE_ACTION',
    description: `Runs one action or workflow from a resolved plan; call it once for each. Call EXECUTE_ACTION only after RESOLVE_ACTIONS returned a plan. ${order}`,
    inputSchema: inputSchemaOf(Execute),
  },
]

export async function resolveActions(input: unknown, request: ServerRequest): Promise<ToolResult> {
  const { integration_query: queries, full_schema: full = false } = parseInput(Resolve, input)
  const chosen = new Map<string, { readonly action: ServerAction; isBest: boolean }>()
  const answers = await request.resolve(queries, maxAnswers)
  for (const { matches } of answers) {
    for (const [at, { action }] of answerOf(matches).entries()) {
      const key = `${action.tool.id} ${action.action.id}`
      const before = chosen.get(key)
      chosen.set(key, { action, isBest: at === 0 || before?.isBest === true })
    }
  }
  const missing = answers.flatMap(missingApp)
  if (chosen.size === 0) {
    const asked = queries
      .map((query) => `"${query.slice(0, 200).toWellFormed()}"`)
      .slice(0, 10)
      .join(', ')
    const advice =
      missing.length > 0 ? [...new Set(missing)].join(' ') : 'Describe the action and its app in other words.'
    return textResult(`Couldn't find any matching actions for ${asked}. ${advice}`)
  }
  const actions = [...chosen.values()].map(({ action }) => action)
  const [sent, usable] = await Promise.all([request.sent(actions), request.recentActions()])
  const hasSent = actions.some((one) => sent(one).length > 0)
  const records = await RecordSources.of(usable)
  const known = { usable, records, answers: hasSent ? await request.answers() : [] }
  const items = [...chosen.values()].map(({ action, isBest }) => ({
    entry: {
      ...((full && wholeEntity(action)) || entity(action, sent(action), known)),
      ...(request.server.code_mode && { typescript: signatureOf(action.action, action.prepared.publicSchema) }),
    },
    isBest: full || isBest,
  }))
  const budget = full ? Number.POSITIVE_INFINITY : (request.server.resolve_tokens ?? defaultBudget)
  const { content, ...rest } = textResult(JSON.stringify(fitPlan(items, budget)))
  return { ...rest, content: [...content, ...[...new Set(missing)].map(textBlock)] }
}

/** Says that an app is missing, and which apps come nearest. */
function missingApp({ missingApp: name, matches }: ActionMatches): string[] {
  if (name === undefined || answerOf(matches).length > 0) return []
  const near = [...new Set(matches.map(({ action }) => action.action.app))].slice(0, 3)
  const nearest = near.length > 0 ? ` The nearest apps are ${near.map((app) => `"${app}"`).join(', ')}.` : ''
  return [`There is no app "${name.slice(0, 100).toWellFormed()}" here.${nearest}`]
}

const entity = (one: ServerAction, sent: readonly RecordedInput[], known: RecentAnswer): PlanEntry => ({
  slug: one.action.app,
  type: one.kind,
  identifier: one.action.name,
  json_schema: hasInputs(one.prepared.publicSchema) ? hinted(one, sent, known) : {},
  ...(one.action.wholeSchema && { note: omitted }),
})

const omitted = 'Details of json_schema are omitted. To see them, call RESOLVE_ACTIONS again with "full_schema": true.'

/** With the schema before it was reduced; undefined if it was not. */
const wholeEntity = ({ action, kind, prepared: { presets } }: ServerAction): PlanEntry | undefined =>
  action.wholeSchema && {
    slug: action.app,
    type: kind,
    identifier: action.name,
    json_schema: shownSchema(action.wholeSchema(), presets),
  }

function hinted(one: ServerAction, sent: readonly RecordedInput[], known: RecentAnswer): JsonObject {
  const { schema, left } = withSources(one, sent, known, hintBudget)
  return withExamples(
    schema,
    sent.map(({ input }) => input),
    left,
  )
}

const hasInputs = (schema: JsonObject): boolean =>
  !isObject(schema.properties) || Object.keys(schema.properties).length > 0

export async function executeAction(input: unknown, request: ServerRequest, live: Live): Promise<ToolResult> {
  try {
    const { action, payload } = await recordIfRefused(request, 'EXECUTE_ACTION', input, async () => {
      const { application_slug: slug, action_id: id, input_payload, type } = parseInput(Execute, input)
      return { action: await find(slug, id, type, request), payload: input_payload }
    })
    const read = await recordIfRefused(request, action, payload, () => readPayload(payload))
    const answered = await request.call(action, read, live).catch((error: unknown) => {
      throw isInvalidInput(error) ? new WrongInput(error, action) : error
    })
    if (!isOutput(answered)) return answered
    return asks(answered.output) ? toResult(answered.output) : await outcomeResult(answered, request)
  } catch (error) {
    if (error instanceof WrongInput) return textResult(JSON.stringify(error.outcome), true)
    if (!(error instanceof PlatformError)) throw error
    return textResult(JSON.stringify({ success: false, error: error.message }), true)
  }
}

const isInvalidInput = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && error.code === 'VALIDATION_FAILED'

/** An input that the schema does not allow. The agent may have seen only a shortened one, so it gets the schema. */
class WrongInput extends Error {
  readonly outcome: JsonObject

  constructor({ message }: PlatformError, { prepared: { publicSchema } }: ServerAction) {
    super(message)
    this.outcome = { success: false, error: message, json_schema: publicSchema }
  }
}

/** The outcome of a call as `{success, data}` or `{success, error}`. */
export async function outcomeResult(answered: CallOutput, request: ServerRequest): Promise<ToolResult> {
  const { output } = answered
  const large = await keptIfLarge(answered, request)
  return large ? largeOutcome(output, large) : outcome(output, dataOf(output))
}

const outcome = ({ failed, note }: Output, data: Json): ToolResult =>
  failed
    ? textResult(
        JSON.stringify({ success: false, error: typeof data === 'string' ? data : JSON.stringify(data) }),
        true,
      )
    : textResult(JSON.stringify({ success: true, data, ...(note !== undefined && { note }) }))

/** The outcome stays JSON. The beginning of a stored text and non-text content follow unchanged. */
function largeOutcome(output: Output, { kept, text, others }: LargeResult): ToolResult {
  if (!kept && others.length === 0) return outcome(output, dataOf(output))
  const { content, ...rest } = outcome(output, kept ? { ...kept, read_on_with: 'READ_RESULT' } : text)
  return { ...rest, content: [...content, ...(kept ? [textBlock(text)] : []), ...others] }
}

async function find(slug: string, id: string, kind: string, request: ServerRequest): Promise<ServerAction> {
  const all = await request.actions()
  const isNamed = ({ action }: ServerAction) => action.app === slug && action.name === id
  const named = all.filter(isNamed)
  const found = named.find((one) => one.kind === kind)
  if (found) return found
  // Call it, and let dispatch report why it is blocked. Suggesting another action would mislead the model.
  const withheld = (await request.withheld()).find(isNamed)
  if (withheld) return withheld
  const [other] = named
  if (other) throw wrongly('type', `"${id}" of "${slug}" is of type "${other.kind}"`)
  const inApp = all.filter(({ action }) => action.app === slug)
  if (inApp.length === 0) {
    const apps = [...new Set(all.map(({ action }) => action.app))]
    throw wrongly('application_slug', `there is no app "${slug}" here${orDidYouMean(slug, apps)}`)
  }
  const names = inApp.map(({ action }) => action.name)
  throw wrongly('action_id', `"${slug}" has no ${kind} "${id}" here${orDidYouMean(id, names)}`)
}

const wrongly = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })

/** Accepts an object, or its JSON text. */
export function readPayload(payload: unknown): JsonObject {
  const wrong = (message: string) => wrongly('input_payload', message)
  let value = payload
  if (typeof payload === 'string') {
    const excess = excessOf(payload)
    if (excess !== undefined) throw wrong(excess)
    try {
      value = payload.trim() === '' ? {} : (JSON.parse(payload) as Json)
    } catch {
      throw wrong('is a string that is not valid JSON: send a JSON object, or a string that contains one')
    }
  }
  if (!isObject(value)) throw wrong(payloadWanted)
  return value
}
