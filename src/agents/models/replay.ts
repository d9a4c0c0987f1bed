import { createHash } from 'node:crypto'
import { Meter, TooMuchWork } from '../../json-schema/meter.ts'
import { type Matcher, matcherOf } from '../../json-schema/pattern.ts'
import { wholeSlice } from '../../lib/characters.ts'
import { isObject, type Json } from '../../lib/json.ts'
import { type Fault, PlatformError } from '../../model/errors.ts'
import { type Message, type ToolCallPart, textOf } from '../../model/message.ts'
import {
  type ReplayFailure,
  type ReplayScript,
  type ReplayStep,
  readReplayScript,
  type TextMatch,
  type When,
} from '../../model/replay-script.ts'
import type { FinishReason, ModelUsage } from './model.ts'

/** What the conditions of a script are evaluated against. */
export interface Conversation {
  readonly model: string
  readonly messages: readonly Message[]
  readonly tools: readonly string[]
}

/** The answer of a step, with its placeholders filled in. */
export interface ReplayAnswer {
  readonly delayMs: number
  readonly reasoning: string | null
  readonly chunks: readonly { readonly text: string; readonly delayMs: number }[]
  readonly toolCalls: readonly ToolCallPart[]
  readonly finishReason: FinishReason
  readonly usage: ModelUsage
  readonly model: string
  /** Ends normally, never ends, or closes the connection early. */
  readonly end: 'done' | 'stall' | 'hang up'
}

export type ReplayOutcome =
  | { readonly kind: 'answer'; readonly performance: ReplayAnswer }
  | { readonly kind: 'error'; readonly failure: ReplayFailure }

const maxCounted = 10_000
/** The computing limit for one answer, in units of at most 50 ns. */
const maxWork = 1_500_000

/**
 * Plays a script. Answers depend on the conversation alone, so a retry after a crash gets the same answer. The exception is
 * an `error` with `times`, which is counted per conversation.
 */
export class Player {
  readonly #script: ReplayScript
  readonly #attempts = new Map<string, number>()
  readonly #patterns = new Map<string, Matcher>()

  constructor(script: ReplayScript) {
    this.#script = script
  }

  play(conversation: Conversation): ReplayOutcome {
    try {
      return this.#play(conversation)
    } catch (error) {
      if (!(error instanceof TooMuchWork)) throw error
      const message =
        'takes too long to match against this conversation: use simpler patterns, fewer steps or fewer placeholders'
      throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'script', message }] }, { cause: error })
    }
  }

  #play(conversation: Conversation): ReplayOutcome {
    const facts = factsOf(conversation)
    const at = this.#script.steps.findIndex((step, index) =>
      fits(step.when ?? { step: index + 1 }, facts, (pattern, text) => this.#test(pattern, text, facts)),
    )
    const step = this.#script.steps[at]
    if (!step) {
      const expected = this.#script.steps.slice(0, 20).map((one, index) => describe(one, index))
      throw new PlatformError('REPLAY_STEP_MISSING', {
        provider: this.#script.name ?? 'replay',
        asked: describeFacts(facts),
        expected,
      })
    }
    const { error } = step
    if (error && (error.times === undefined || this.#count(at, conversation) <= error.times)) {
      return { kind: 'error', failure: error }
    }
    return { kind: 'answer', performance: perform(step, this.#script, facts) }
  }

  #test(pattern: string, text: string, { meter }: StepFacts): boolean {
    const matcher = this.#patterns.get(pattern) ?? matcherOf(pattern)
    this.#patterns.set(pattern, matcher)
    meter.take(1000 + (text.length + 1) * matcher.cost)
    return matcher.test(text)
  }

  #count(at: number, { messages }: Conversation): number {
    const key = `${at} ${createHash('sha256').update(JSON.stringify(messages)).digest('base64url')}`
    const attempts = (this.#attempts.get(key) ?? 0) + 1
    this.#attempts.delete(key)
    this.#attempts.set(key, attempts)
    const [oldest] = this.#attempts.keys()
    if (this.#attempts.size > maxCounted && oldest !== undefined) this.#attempts.delete(oldest)
    return attempts
  }
}

/** Parses a script, and also validates its patterns, which the schema does not cover. Error paths start with `root`. */
export function loadScript(given: unknown, root = 'script'): ReplayScript {
  const { script, faults = patternFaults(script as ReplayScript) } = readReplayScript(given)
  if (!script || faults.length > 0) {
    const errors = faults.map(({ path, message }) => ({
      path: path === '' ? root : path.startsWith('line ') ? `${root} (${path})` : `${root}.${path}`,
      message,
    }))
    throw new PlatformError('VALIDATION_FAILED', { errors })
  }
  return script
}

function patternFaults({ steps }: ReplayScript): Fault[] {
  return steps.flatMap(({ when = {} }, at) => {
    const { last_user, system, last_tool } = when
    const output = isObject(last_tool) ? last_tool.output : undefined
    const texts = { last_user, system, 'last_tool.output': output } as Record<string, TextMatch | undefined>
    return Object.entries(texts).flatMap(([path, match]) => {
      if (match?.matches === undefined) return []
      try {
        matcherOf(match.matches)
        return []
      } catch (error) {
        return [{ path: `steps[${at}].when.${path}.matches`, message: (error as Error).message }]
      }
    })
  })
}

interface StepFacts {
  readonly step: number
  readonly turnStep: number
  readonly lastUser: string
  readonly system: string
  /** The last message, if it is a tool result. */
  readonly lastTool: Extract<Message, { role: 'tool' }> | undefined
  /** The output of the latest tool result, even if other messages follow it. */
  readonly lastOutput: Json
  readonly tools: readonly string[]
  readonly model: string
  readonly characters: number
  readonly meter: Meter
  /** Caches texts parsed as JSON, for placeholders with a path. */
  readonly parsed: Map<string, Json>
}

function factsOf({ messages, tools, model }: Conversation): StepFacts {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user')
  const user = messages[lastUser]
  const last = messages.at(-1)
  const answers = (some: readonly Message[]) => some.filter(({ role }) => role === 'assistant').length
  return {
    step: answers(messages) + 1,
    turnStep: answers(messages.slice(lastUser + 1)) + 1,
    lastUser: user?.role === 'user' ? textOf(user.content) : '',
    system: messages.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n'),
    lastTool: last?.role === 'tool' ? last : undefined,
    lastOutput: messages.findLast((message) => message.role === 'tool')?.output ?? null,
    tools,
    model,
    characters: JSON.stringify(messages).length,
    meter: new Meter(maxWork),
    parsed: new Map(),
  }
}

type Test = (pattern: string, text: string) => boolean

function fits(when: When, facts: StepFacts, test: Test): boolean {
  const { step, turn_step, last_user, last_tool, system, tools, model } = when
  return (
    (step === undefined || step === facts.step) &&
    (turn_step === undefined || turn_step === facts.turnStep) &&
    (model === undefined || model === facts.model) &&
    (tools === undefined || tools.every((tool) => facts.tools.includes(tool))) &&
    matches(last_user, facts.lastUser, facts, test) &&
    matches(system, facts.system, facts, test) &&
    fitsTool(last_tool, facts, test)
  )
}

function fitsTool(wanted: When['last_tool'], facts: StepFacts, test: Test): boolean {
  const { lastTool: last } = facts
  if (wanted === undefined) return true
  if (wanted === null || last === undefined) return wanted === null && last === undefined
  const { name, is_error, output } = typeof wanted === 'string' ? { name: wanted } : wanted
  return (
    (name === undefined || name === last.tool_name) &&
    (is_error === undefined || is_error === last.is_error) &&
    matches(output, output === undefined ? '' : asText(last.output), facts, test)
  )
}

function matches(match: TextMatch | undefined, text: string, { meter }: StepFacts, test: Test): boolean {
  if (!match) return true
  meter.take(10 + text.length / 8)
  return (
    (match.contains === undefined || text.includes(match.contains)) &&
    (match.equals === undefined || text === match.equals) &&
    (match.matches === undefined || test(match.matches, text))
  )
}

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

function perform(step: ReplayStep, script: ReplayScript, facts: StepFacts): ReplayAnswer {
  const { text = '', reasoning, tool_calls = [], usage, finish_reason, delay_ms = 0, literal } = step.answer ?? {}
  const fill = (value: string) => (literal ? value : filled(value, facts))
  const pieces = (typeof text === 'string' ? inPieces(text) : text).map((piece) =>
    typeof piece === 'string' ? { text: piece } : piece,
  )
  const chunks = pieces.map(
    ({ text: piece, delay_ms: delayMs = 0 }: { text: string; delay_ms?: number | undefined }) => ({
      text: fill(piece),
      delayMs,
    }),
  )
  const toolCalls = tool_calls.map(({ id, name, args }, at) => ({
    id: id ?? `call_${facts.step}_${at + 1}`,
    name,
    args: typeof args === 'string' ? fill(args) : JSON.stringify(literal ? args : filledDeep(args, facts)),
  }))
  const said = reasoning === undefined ? null : fill(reasoning)
  const size = [...chunks.map((chunk) => chunk.text), said ?? '', ...toolCalls.map(({ args }) => args)].join('').length
  return {
    delayMs: delay_ms,
    reasoning: said,
    chunks,
    toolCalls,
    finishReason: finish_reason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    usage: {
      input_tokens: usage?.input_tokens ?? Math.ceil(facts.characters / 4),
      output_tokens: usage?.output_tokens ?? Math.ceil(size / 4),
      cached_input_tokens: usage?.cached_input_tokens ?? null,
    },
    model: script.model ?? facts.model,
    end: step.stall ? 'stall' : step.hang_up ? 'hang up' : 'done',
  }
}

/** Word by word, as a model streams. */
const inPieces = (text: string): string[] => {
  if (text === '') return []
  // A placeholder must not be split.
  return text.includes('{{') || text.length > 20_000 ? [text] : (text.match(/\s*\S+\s*$|\s*\S+|\s+$/g) ?? [text])
}

const placeholder = /\{\{\s*(last_tool_output|last_user|model|step)((?:\.[\w-]+)*)\s*\}\}/g

function placed(name: string, path: string, facts: StepFacts): Json {
  const values: Record<string, Json> = {
    last_tool_output: facts.lastOutput,
    last_user: facts.lastUser,
    model: facts.model,
    step: facts.step,
  }
  return path
    .split('.')
    .slice(1)
    .reduce<Json>((value, key) => {
      const inside = typeof value === 'string' ? readJson(value, facts) : value
      if (Array.isArray(inside)) return inside[Number(key)] ?? null
      return isObject(inside) && Object.hasOwn(inside, key) ? (inside[key] ?? null) : null
    }, values[name] ?? null)
}

function readJson(text: string, { parsed, meter }: StepFacts): Json {
  const known = parsed.get(text)
  if (known !== undefined) return known
  meter.take(text.length / 4)
  let value: Json = text
  try {
    value = JSON.parse(text)
  } catch {
    // Not JSON: stays text.
  }
  parsed.set(text, value)
  return value
}

const filled = (text: string, facts: StepFacts): string =>
  text.includes('{{')
    ? text.replaceAll(placeholder, (_, name: string, path: string) => {
        const value = placed(name, path, facts)
        const shown = value === null ? '' : asText(value)
        facts.meter.take(10 + shown.length / 2)
        return shown
      })
    : text

/** A string that consists of one placeholder becomes the value itself, so that numbers stay numbers. */
function filledDeep(value: Json, facts: StepFacts): Json {
  if (typeof value === 'string') {
    const [whole, name, path] = new RegExp(placeholder.source).exec(value) ?? []
    return whole === value ? placed(name as string, path as string, facts) : filled(value, facts)
  }
  if (Array.isArray(value)) return value.map((inner) => filledDeep(inner, facts))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, filledDeep(inner, facts)]))
}

const cut = (text: string) => (text.length > 120 ? `${wholeSlice(text, 120)}…` : text)

const describeFacts = ({ step, lastUser, lastTool, tools }: StepFacts): string =>
  [
    `step ${step}`,
    `last user message "${cut(lastUser)}"`,
    lastTool ? `last tool result from "${lastTool.tool_name}"` : 'no tool result last',
    `tools offered: ${tools.slice(0, 20).join(', ') || 'none'}`,
  ].join(', ')

const describe = ({ name, when }: ReplayStep, index: number): string =>
  `${name ? `"${name}"` : `step ${index + 1}`} (${when ? cut(JSON.stringify(when)) : `step is ${index + 1}`})`
