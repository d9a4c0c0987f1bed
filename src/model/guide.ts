import { z } from 'zod'
import type { JsonObject } from '../lib/json.ts'
import { RoutinePosition } from './session.ts'

/** A rule of behaviour. Lists are complete and defaults are filled in. */
export interface Policy {
  readonly id: string
  readonly condition: string | null
  readonly when: string | null
  readonly action: string
  readonly tools: readonly string[]
  readonly criticality: 'low' | 'medium' | 'high'
  readonly reevaluate_after: readonly string[]
  readonly in_routine: string | null
  readonly repeat: 'always' | 'once'
  readonly applies_to: 'turn' | 'reply'
}

export interface Transition {
  readonly to: string
  readonly condition: string | null
  readonly when: string | null
}

export type NodeKind = 'chat' | 'tool' | 'think' | 'routing'

/** A node of a routine. `text` is what to say, how to call the tools, or what to think about. */
export interface RoutineNode {
  readonly id: string
  readonly kind: NodeKind
  readonly text: string
  readonly tools: readonly string[]
  readonly output_schema: JsonObject | null
  readonly transitions: readonly Transition[]
}

export interface Autonomous {
  readonly input_schema: JsonObject | null
  readonly output_schema: JsonObject
  readonly timeout_seconds: number | null
  readonly callback_url_allowlist: readonly string[]
  /** The name of the secret that signs callbacks. */
  readonly callback_secret?: string | null
}

export interface Routine {
  readonly id: string
  readonly title: string
  readonly description: string | null
  readonly conditions: readonly string[]
  readonly when: string | null
  readonly entry: string
  readonly nodes: readonly RoutineNode[]
  readonly autonomous: Autonomous | null
}

export interface Priority {
  readonly higher: string
  readonly over: readonly string[]
  readonly over_all_routines: boolean
}

export interface GlossaryEntry {
  readonly term: string
  readonly description: string
  readonly synonyms: readonly string[]
}

/** The result of a tool that a session keeps. */
export interface Variable {
  readonly id: string
  readonly tool: string
  readonly arguments: JsonObject
  /** How old it may become. Null means that it is fetched once. */
  readonly max_age_seconds: number | null
}

/** A text for replies, with `${{ … }}`. */
export interface CannedReply {
  readonly id: string
  readonly text: string
  readonly when: string | null
}

/** What guides the turns of an agent. Immutable: a changed manifest makes a new one. */
export interface GuideContent {
  readonly policies: readonly Policy[]
  readonly routines: readonly Routine[]
  readonly reevaluation_tools: readonly string[]
  readonly glossary: readonly GlossaryEntry[]
  readonly priorities: readonly Priority[]
  readonly variables: readonly Variable[]
  readonly canned_replies: readonly CannedReply[]
  /** `strict`: replies are canned replies, and nothing else. */
  readonly reply_mode: 'free' | 'strict'
  readonly safe_reply: string
  readonly max_engine_iterations: number
  readonly policy_batch_size: number
  /** Answers the guide's questions. Null means the model of the agent. */
  readonly evaluation: { readonly ai_provider_id: string; readonly model: string | null } | null
}

export interface Guide extends GuideContent {
  readonly id: string
}

/** Why a policy or a routine applies, or does not. */
export const GuideMatch = z.object({
  id: z.string().describe('policy:<id> or routine:<id>'),
  applies: z.boolean(),
  by: z
    .enum(['always', 'when', 'model', 'bound', 'priority', 'fault'])
    .describe('bound: it matched earlier in the turn; priority: another one takes precedence'),
  reason: z.string().nullable(),
})
export type GuideMatch = z.infer<typeof GuideMatch>

/** What the guide decided for a step. */
export const StepGuide = z.object({
  guidance: z.string().nullable().describe('The instructions for this step'),
  actions: z.array(z.string()).nullable().describe('The tools of this step, as namespace:name; null means all'),
  built_ins: z.array(
    z.object({ tool_id: z.string(), routine_id: z.string(), node_id: z.string(), schema: z.custom<JsonObject>() }),
  ),
  must_call: z.string().nullable().describe('The tool that the model has to call'),
  last: z.boolean().describe('Whether the limit of iterations is reached, so that the model has to reply'),
  matches: z.array(GuideMatch),
  routines: z.array(RoutinePosition),
  reviewed: z.boolean().describe('Whether the reply is checked before it is sent'),
  review: z
    .object({ violations: z.array(z.object({ id: z.string(), reason: z.string().nullable() })) })
    .nullable()
    .describe('What the check of the reply found'),
  rewrites: z.int().nullable().describe('The step whose draft this step replaces'),
  questions: z.int().describe('How many questions the model was asked for this decision'),
  faults: z.array(z.string()),
  fetch: z
    .array(
      z.object({
        variable: z.string(),
        tool_id: z.string(),
        tool_name: z.string(),
        arguments: z.custom<JsonObject>(),
      }),
    )
    .optional()
    .describe('The variables that this step fetches. No model is asked'),
  replies: z.array(z.string()).optional().describe('The canned replies that can be sent'),
})
export type StepGuide = z.infer<typeof StepGuide>

/** The tools that the platform adds in routines. */
export const builtIns = { reason: 'built-in:reason', emitOutput: 'built-in:emit_output' } as const
