import { isAlias, isMap, isScalar, LineCounter, parseDocument, stringify, visit } from 'yaml'
import { z } from 'zod'
import type { Json } from '../lib/json.ts'
import type { Fault } from './errors.ts'
import { faultsOf } from './faults.ts'

/** A text to look for: within it, the whole of it, or a pattern. A plain text is looked for within. */
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

/** What the conversation must look like for a step to answer it. All that is given must hold. */
export const When = z.strictObject({
  step: z.int().min(1).optional().describe('Which answer of the conversation this is, from 1'),
  turn_step: z.int().min(1).optional().describe('Which answer since the last user message this is, from 1'),
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
    .describe('The tool result that came last; null where the last message is none'),
  system: TextMatch.optional(),
  tools: z.array(z.string().min(1)).optional().describe('Tools that are offered'),
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
    literal: z.boolean().optional().describe('Whether {{ }} stands for itself'),
  }),
)

const Failure = z.strictObject({
  status: z.int().min(400).max(599),
  code: z.string().max(200).optional(),
  message: z.string().max(10_000).optional(),
  retry_after: z.number().min(0).max(86_400).optional().describe('Seconds'),
  times: z.int().min(1).max(1000).optional().describe('How many attempts get it, before the answer'),
})
export type ReplayFailure = z.infer<typeof Failure>

const Step = z
  .strictObject({
    name: z.string().min(1).max(200).optional(),
    when: When.optional().describe('Without it the step answers at its place in the list'),
    answer: Answer.optional(),
    error: Failure.optional(),
    stall: z.boolean().optional().describe('Sends the answer’s text, if any, and then nothing more'),
    hang_up: z.boolean().optional().describe('Sends the answer’s text, if any, and then breaks off'),
  })
  .refine(
    ({ answer, error, stall, hang_up }) => answer || error || stall || hang_up,
    'must have an "answer", an "error", "stall" or "hang_up"',
  )
  .refine(
    ({ answer, error }) => !error?.times || answer,
    'has "error.times" and no "answer" for the attempts after those',
  )
  .refine(({ answer, error }) => !(answer && error) || error.times, 'has an "answer" beside an "error" without "times"')
export type ReplayStep = z.infer<typeof Step>

/** What a model says, written down. */
export const ReplayScript = z.strictObject({
  name: z.string().max(200).optional(),
  model: z.string().max(200).optional().describe('What the model calls itself in its answers'),
  steps: z.array(Step).min(1).max(5000),
})
export type ReplayScript = z.infer<typeof ReplayScript>

export type ReadScript =
  | { readonly script: ReplayScript; readonly faults?: undefined }
  | { readonly script?: undefined; readonly faults: readonly Fault[] }

/** Reads a script from YAML or JSON, or from what was read already; or tells all that is wrong with it. */
export function readReplayScript(given: unknown): ReadScript {
  const read = typeof given === 'string' ? readText(given) : { value: given }
  if (read.faults) return { faults: read.faults }
  const result = ReplayScript.safeParse(read.value)
  return result.success ? { script: result.data } : { faults: faultsOf(result.error) }
}

/** To read more YAML than this takes so long that others would notice. JSON is read a hundred times faster. */
const longestYaml = 200_000

function readText(text: string): { value: unknown; faults?: undefined } | { faults: Fault[] } {
  if (/^\s*\{/.test(text)) {
    try {
      return { value: JSON.parse(text) }
    } catch {
      // YAML may begin like that, too.
    }
  }
  if (text.length > longestYaml) {
    return { faults: [{ path: '', message: `is more than ${longestYaml} characters of YAML: write it as JSON` }] }
  }
  return readYaml(text)
}

function readYaml(text: string): { value: unknown; faults?: undefined } | { faults: Fault[] } {
  const lines = new LineCounter()
  // Its own search for keys that stand twice takes the square of their number.
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false })
  const at = (offset: number, message: string): Fault => {
    const { line, col } = lines.linePos(offset)
    return { path: `line ${line}, column ${col}`, message: (message.split('\n')[0] ?? '').replace(/ at line .*$/, '') }
  }
  const faults = document.errors.map(({ pos, message }) => at(pos[0], message))
  // A few lines of aliases can stand for gigabytes.
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
  return { value: document.toJS({ maxAliasCount: 100 }) }
}

/** In YAML, or in the JSON that is YAML as well where there is a lot of it. */
export function printReplayScript(script: ReplayScript): string {
  const json = JSON.stringify(script, null, 2)
  return json.length > longestYaml / 2 ? json : stringify(script, { lineWidth: 0 })
}
