import { isAlias, isMap, isScalar, LineCounter, parseDocument, stringify, visit } from 'yaml'
import { z } from 'zod'
import type { Json } from '../lib/json.ts'
import { yamlValue } from '../lib/yaml-value.ts'
import type { Fault } from './errors.ts'
import { faultsOf } from './faults.ts'

/** Matches text that contains a string, equals it, or matches a pattern. A plain string means `contains`. */
const TextMatch = z.preprocess(
  (value) => (typeof value === 'string' ? { contains: value } : value),
  z
    .strictObject({
      contains: z.string().min(1).optional(),
      equals: z.string().optional(),
      matches: z.string().min(1).max(2000).optional().describe('A regular expression'),
    })
    .refine((match) => Object.keys(match).length > 0, 'must have "contains", "equals" or "matches"'),
)
export type TextMatch = z.infer<typeof TextMatch>

/** The conditions for a step to answer a conversation. All of them must hold. */
export const When = z.strictObject({
  step: z.int().min(1).optional().describe('Number of the answer in the conversation, from 1'),
  turn_step: z.int().min(1).optional().describe('Number of the answer since the last user message, from 1'),
  last_user: TextMatch.optional(),
  last_tool: z
    .union([
      z.string().min(1),
      z.null(),
      z.strictObject({
        name: z.string().min(1).optional(),
        is_error: z.boolean().optional(),
        output: TextMatch.optional(),
      }),
    ])
    .optional()
    .describe('The latest tool result; null if the last message is not a tool result'),
  system: TextMatch.optional(),
  tools: z.array(z.string().min(1)).optional().describe('Tools available to the model'),
  model: z.string().min(1).optional(),
})
export type When = z.infer<typeof When>

const Milliseconds = z.number().min(0).max(600_000)

const Usage = z.strictObject({
  input_tokens: z.int().min(0),
  output_tokens: z.int().min(0),
  cached_input_tokens: z.int().min(0).optional(),
})

const Answer = z.preprocess(
  (value) => (typeof value === 'string' ? { text: value } : value),
  z.strictObject({
    text: z
      .union([
        z.string(),
        z
          .array(z.union([z.string(), z.strictObject({ text: z.string(), delay_ms: Milliseconds.optional() })]))
          .max(10_000),
      ])
      .optional(),
    reasoning: z.string().optional(),
    tool_calls: z
      .array(
        z.strictObject({
          name: z.string().min(1).max(200),
          args: z.union([z.record(z.string(), z.custom<Json>()), z.string()]).default({}),
          id: z.string().min(1).max(200).optional(),
        }),
      )
      .max(200)
      .optional(),
    usage: Usage.optional(),
    finish_reason: z.enum(['stop', 'tool_calls', 'length', 'content_filter', 'other']).optional(),
    delay_ms: Milliseconds.optional(),
    literal: z.boolean().optional().describe('Treat {{ }} as literal text'),
  }),
)

const Failure = z.strictObject({
  status: z.int().min(400).max(599),
  code: z.string().max(200).optional(),
  message: z.string().max(10_000).optional(),
  retry_after: z.number().min(0).max(86_400).optional().describe('Seconds'),
  times: z.int().min(1).max(1000).optional().describe('How many attempts fail before the answer is sent'),
})
export type ReplayFailure = z.infer<typeof Failure>

const Step = z
  .strictObject({
    name: z.string().min(1).max(200).optional(),
    when: When.optional().describe('Without a condition, the step answers at its position in the list'),
    answer: Answer.optional(),
    error: Failure.optional(),
    stall: z.boolean().optional().describe('Sends the answer’s text, if any, then stalls'),
    hang_up: z.boolean().optional().describe('Sends the answer’s text, if any, then closes the connection'),
  })
  .refine(
    ({ answer, error, stall, hang_up }) => answer || error || stall || hang_up,
    'must have an "answer", an "error", "stall" or "hang_up"',
  )
  .refine(
    ({ answer, error }) => !error?.times || answer,
    'has "error.times" but no "answer" for the attempts after those',
  )
  .refine(
    ({ answer, error }) => !(answer && error) || error.times,
    'has both an "answer" and an "error" without "times"',
  )
export type ReplayStep = z.infer<typeof Step>

/** A script of model responses. */
export const ReplayScript = z.strictObject({
  name: z.string().max(200).optional(),
  model: z.string().max(200).optional().describe('The model name in the responses'),
  steps: z.array(Step).min(1).max(5000),
})
export type ReplayScript = z.infer<typeof ReplayScript>

export type ReadScript =
  | { readonly script: ReplayScript; readonly faults?: undefined }
  | { readonly script?: undefined; readonly faults: readonly Fault[] }

/** Parses a script from YAML, JSON or an already parsed value. Returns all faults if it is invalid. */
export function readReplayScript(source: unknown): ReadScript {
  const read = typeof source === 'string' ? readText(source) : { value: source }
  if (read.faults) return { faults: read.faults }
  const result = ReplayScript.safeParse(read.value)
  return result.success ? { script: result.data } : { faults: faultsOf(result.error) }
}

/** Parsing more YAML than this would block the event loop noticeably. JSON parses a hundred times faster. */
const longestYaml = 200_000

function readText(text: string): { value: unknown; faults?: undefined } | { faults: Fault[] } {
  if (/^\s*\{/.test(text)) {
    try {
      return { value: JSON.parse(text) }
    } catch {
      // YAML can also start with a brace.
    }
  }
  if (text.length > longestYaml) {
    return { faults: [{ path: '', message: `is more than ${longestYaml} characters of YAML: write it as JSON` }] }
  }
  return readYaml(text)
}

function readYaml(text: string): { value: unknown; faults?: undefined } | { faults: Fault[] } {
  const lines = new LineCounter()
  // The library's own check for duplicate keys is quadratic.
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false })
  const at = (offset: number, message: string): Fault => {
    const { line, col } = lines.linePos(offset)
    return { path: `line ${line}, column ${col}`, message: (message.split('\n')[0] ?? '').replace(/ at line .*$/, '') }
  }
  const faults = document.errors.map(({ pos, message }) => at(pos[0], message))
  // A few lines of aliases can expand to gigabytes.
  let aliases = 0
  visit(document, (_, node) => {
    if (isAlias(node)) aliases++
    if (!isMap(node)) return
    const keys = new Set<unknown>()
    for (const { key } of node.items) {
      if (!isScalar(key)) continue
      if (keys.has(key.value)) faults.push(at(key.range?.[0] ?? 0, 'Map keys must be unique'))
      keys.add(key.value)
    }
  })
  if (faults.length > 0) return { faults: faults.slice(0, 100) }
  if (aliases > 100) return { faults: [{ path: '', message: 'has more than 100 aliases' }] }
  const { value, fault } = yamlValue(document)
  return fault === undefined ? { value } : { faults: [{ path: '', message: fault }] }
}

/** Serializes a script as YAML, or as JSON if it is long. */
export function printReplayScript(script: ReplayScript): string {
  const json = JSON.stringify(script, null, 2)
  return json.length > longestYaml / 2 ? json : stringify(script, { lineWidth: 0 })
}
