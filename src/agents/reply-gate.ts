import type { ModelDelta } from './models/model.ts'

/**
 * Holds back the text of a step until the reply may begin. From then on, a new message does not cancel the turn, so
 * nothing that a client has seen is taken back.
 */
export class ReplyGate {
  readonly #begin: () => Promise<boolean>
  readonly #send: (delta: ModelDelta) => void
  readonly #onRefused: () => void
  #held: ModelDelta[] = []
  #begun: Promise<void> | undefined
  #isOpen = false

  constructor(begin: () => Promise<boolean>, send: (delta: ModelDelta) => void, onRefused: () => void) {
    this.#begin = begin
    this.#send = send
    this.#onRefused = onRefused
  }

  onDelta(delta: ModelDelta): void {
    if (this.#isOpen) this.#send(delta)
    else this.#held.push(delta)
    if (delta.type === 'text' && delta.text !== '') this.#begun ??= this.#open()
  }

  /** Resolves once everything so far is sent or refused. */
  async settled(): Promise<void> {
    await this.#begun
  }

  async #open(): Promise<void> {
    if (!(await this.#begin())) {
      this.#onRefused()
      return
    }
    this.#isOpen = true
    for (const delta of this.#held.splice(0)) this.#send(delta)
  }
}
