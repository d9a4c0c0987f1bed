import type { ModelAnswer, ModelRequest, Models } from '../../agents/models/model.ts'
import { loadScript, Player } from '../../agents/models/replay.ts'
import { PlatformError } from '../../model/errors.ts'
import { textOf } from '../../model/message.ts'
import type { AiProviderRecord } from '../../store/ai-providers.ts'
import type { Meanwhile, ScriptedAnswer } from './scenario.ts'

interface Entry {
  readonly label: string
  readonly scripted: ScriptedAnswer
  readonly player: Player
  used: number
}

/** Answers each request with the first scripted answer that fits and is not used up. Everything else is a failure. */
export class ScriptedModels implements Models {
  readonly #entries: Entry[]
  readonly failures: string[] = []
  calls = 0
  /** Sends a message to the session that is being played. */
  interrupt: (meanwhile: Meanwhile) => Promise<void> = async () => {}

  constructor(answers: readonly ScriptedAnswer[]) {
    this.#entries = answers.map((scripted, index) => ({
      label: scripted.name ?? `model[${index}]`,
      scripted,
      player: new Player(
        loadScript({ steps: [{ when: scripted.when, answer: answerOf(scripted) }] }, `model[${index}]`),
      ),
      used: 0,
    }))
  }

  async generate(_: AiProviderRecord, request: ModelRequest): Promise<ModelAnswer> {
    this.calls++
    for (const entry of this.#entries) {
      if (entry.scripted.times !== 'any' && entry.used >= entry.scripted.times) continue
      const answer = played(entry.player, request)
      if (!answer) continue
      entry.used++
      this.#checkPrompt(entry, request)
      await this.#say(answer.text, entry.scripted.meanwhile, request)
      return answer
    }
    const asked = request.messages.at(-1)
    const text = asked && 'content' in asked ? textOf(asked.content) : JSON.stringify(asked)
    this.failures.push(`a model call that no answer is left for: ${text.slice(-300)}`)
    throw new PlatformError('REPLAY_STEP_MISSING', { provider: 'scenario', asked: text.slice(0, 200), expected: [] })
  }

  /** Streams the text, with the message that arrives meanwhile. */
  async #say(text: string, meanwhile: Meanwhile | undefined, { onDelta, signal }: ModelRequest): Promise<void> {
    const begun = meanwhile?.after_text ?? ''
    if (!text.startsWith(begun)) this.failures.push(`after_text ${JSON.stringify(begun)} does not begin the answer`)
    const say = (part: string) => part !== '' && onDelta?.({ type: 'text', text: part })
    say(begun)
    if (meanwhile) await this.interrupt(meanwhile)
    signal.throwIfAborted()
    say(text.slice(begun.length))
  }

  /** What the scenario has answers for, and the agent did not ask. */
  unused(): string[] {
    return this.#entries
      .filter(({ scripted, used }) => scripted.times !== 'any' && used < scripted.times)
      .map(({ label, scripted, used }) => `${label} was used ${used} of ${scripted.times} times`)
  }

  costOf(): null {
    return null
  }

  async close(): Promise<void> {}

  #checkPrompt({ label, scripted }: Entry, { messages, tools }: ModelRequest): void {
    const prompt = [
      ...messages.map((message) => ('content' in message ? textOf(message.content) : JSON.stringify(message))),
      ...tools.map(({ name, description }) => `${name} ${description ?? ''}`),
    ].join('\n')
    for (const text of scripted.prompt_contains) {
      if (!prompt.includes(text)) this.failures.push(`${label}: the prompt does not contain ${JSON.stringify(text)}`)
    }
    for (const text of scripted.prompt_lacks) {
      if (prompt.includes(text)) this.failures.push(`${label}: the prompt contains ${JSON.stringify(text)}`)
    }
  }
}

const answerOf = ({ answer, json }: ScriptedAnswer): unknown =>
  json === undefined ? answer : { text: JSON.stringify(json), literal: true }

function played(player: Player, { model, messages, tools }: ModelRequest): ModelAnswer | undefined {
  try {
    const outcome = player.play({ model, messages, tools: tools.map(({ name }) => name) })
    if (outcome.kind === 'error') return undefined
    const { chunks, reasoning, toolCalls, finishReason, usage } = outcome.performance
    return {
      text: chunks.map(({ text }) => text).join(''),
      reasoning,
      tool_calls: [...toolCalls],
      finish_reason: finishReason,
      usage,
      model,
      metadata: null,
    }
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'REPLAY_STEP_MISSING') return undefined
    throw error
  }
}
