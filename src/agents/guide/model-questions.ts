import { createHash } from 'node:crypto'
import type { GuideAnswerRow } from '../../db/tables.ts'
import { isObject, isTooDeep, type JsonObject } from '../../lib/json.ts'
import type { Guide } from '../../model/guide.ts'
import type { Message } from '../../model/message.ts'
import { keepable } from '../../model/page.ts'
import type { Run } from '../../store/generations.ts'
import type { Store } from '../../store/store.ts'
import type { RunModel } from '../loop.ts'
import { modelOf } from '../model-of.ts'
import type { Models } from '../models/model.ts'

/** Each kind of question starts with a marker, so that scripts and people recognise it. */
export const markers = {
  match: '[match-policies]',
  matchLow: '[match-ids]',
  route: '[choose-transition]',
  review: '[check-reply]',
} as const
export type QuestionKind = keyof typeof markers

export interface Question<Answer> {
  readonly kind: QuestionKind
  /** The same for all questions of a turn, so that providers cache it. */
  readonly system: string
  readonly user: string
  /** What of the system prompt the question is about. Other parts may change without making the answer obsolete. */
  readonly about: string
  /** Returns the answer, or what is wrong with it in words. */
  read(answer: JsonObject): Answer | string
}

/** Asks the model the questions of one decision, and remembers what it answered. */
export class ModelQuestions {
  readonly #run: Run
  readonly #step: number
  readonly #signal: AbortSignal
  readonly #model: Promise<RunModel>
  readonly #answers: GuideAnswerRow[] = []
  readonly #recorded: ReadonlyMap<string, string>
  readonly faults: string[] = []
  /** How many questions were answered from earlier ones. */
  reused = 0

  /** `recorded` has answers by the hash of their question. Such a question is not asked again. */
  constructor(
    { run, step, signal, recorded }: { run: Run; step: number; signal: AbortSignal; recorded?: Map<string, string> },
    guide: Guide,
    { store, models }: { store: Store; models: Models },
  ) {
    this.#run = run
    this.#step = step
    this.#signal = signal
    this.#recorded = recorded ?? new Map()
    const settings = guide.evaluation ? { ...run.settings, ...guide.evaluation } : run.settings
    this.#model = modelOf({ ...run, settings }, store, models)
    this.#model.catch(() => {})
  }

  get answers(): readonly GuideAnswerRow[] {
    return this.#answers
  }

  /** What the questions have used. */
  get usage(): { input_tokens: number; output_tokens: number; cost: number } {
    const sum = (of: (answer: GuideAnswerRow) => number) => this.#answers.reduce((total, one) => total + of(one), 0)
    return {
      input_tokens: sum((one) => one.input_tokens),
      output_tokens: sum((one) => one.output_tokens),
      cost: sum((one) => one.cost ?? 0),
    }
  }

  /**
   * Asks a question. An answer that cannot be used is sent back once. If that does not help, or the model fails, the
   * answer is undefined and the reason is kept: a question that fails must not fail the turn.
   */
  async ask<Answer>(question: Question<Answer>): Promise<Answer | undefined> {
    const messages: Message[] = [
      { role: 'system', content: question.system },
      { role: 'user', content: question.user },
    ]
    try {
      const hash = questionHash(question)
      const first = await this.#answer(hash, question.kind, messages)
      const answer = readAnswer(first, question)
      if (typeof answer !== 'string') return answer.value
      const again = `[repair] ${markers[question.kind]} Your answer cannot be used: ${answer}. Answer the question again, with JSON only.`
      const second = await this.#answer(`${hash}/repair`, question.kind, [
        ...messages,
        { role: 'assistant', content: first },
        { role: 'user', content: again },
      ])
      const repaired = readAnswer(second, question)
      if (typeof repaired !== 'string') return repaired.value
      this.faults.push(`${question.kind}: the answer of the model cannot be used: ${repaired}`)
    } catch (error) {
      this.#signal.throwIfAborted()
      this.faults.push(`${question.kind}: ${(error as Error).message}`)
    }
    return undefined
  }

  async #answer(hash: string, kind: QuestionKind, messages: readonly Message[]): Promise<string> {
    const known = this.#recorded.get(hash)
    if (known !== undefined) {
      this.reused++
      return known
    }
    const model = await this.#model
    const started = performance.now()
    const answer = await model.generate({
      messages,
      tools: [],
      toolChoice: 'none',
      temperature: 0,
      signal: this.#signal,
    })
    this.#answers.push({
      generation_id: this.#run.id,
      hash,
      step: this.#step,
      kind,
      model: keepable(answer.model),
      input_tokens: answer.usage.input_tokens,
      output_tokens: answer.usage.output_tokens,
      cost: model.costOf(answer),
      milliseconds: Math.round(performance.now() - started),
      answer: keepable(answer.text),
    })
    return answer.text
  }
}

/** Identifies a question, to reuse its answer in a rehearsal. */
const questionHash = ({ kind, about, user }: Question<unknown>): string =>
  createHash('sha256')
    .update(JSON.stringify([kind, about, user]))
    .digest('base64url')

const longestAnswer = 200_000

function readAnswer<Answer>(text: string, { read }: Question<Answer>): { value: Answer } | string {
  // Models like to wrap JSON in a code fence or a sentence.
  const start = text.indexOf('{')
  const end = text.lastIndexOf('}')
  if (start < 0 || end < start) return 'it has no JSON object'
  const json = text.slice(start, end + 1)
  if (json.length > longestAnswer || isTooDeep(json)) return 'it is too large'
  try {
    const value: unknown = JSON.parse(json)
    if (!isObject(value)) return 'it is not an object'
    const answer = read(value)
    return typeof answer === 'string' ? answer : { value: answer }
  } catch (error) {
    return `it is not valid JSON (${(error as Error).message})`
  }
}
