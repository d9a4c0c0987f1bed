import { hash, timingSafeEqual } from 'node:crypto'

/** Names the call that a request is made for. */
export const lineageHeader = 'x-quartermaster-call'

/** The call that made another, and how many are above that one. */
export interface Descent {
  readonly parentCallId: string
  readonly depth: number
}

/**
 * Knows our own calls again when they come back to us as requests, so that tools that call one another in a circle by way
 * of HTTP come to an end. The platform cannot know all its names, so every request says which call it is made for; and
 * what it says is signed, because others see it too. All they could do with it is to have their own calls count as
 * deeper than they are.
 */
export class Lineage {
  readonly #key: string

  constructor(key: string) {
    this.#key = key
  }

  print({ callId, depth }: { callId: string; depth: number }): string {
    const text = `${callId}.${depth}`
    return `${text}.${this.#sign(text)}`
  }

  /** Where a request comes from; nothing if it is not ours. */
  read(header: string | undefined): Descent | undefined {
    const [, text = '', callId = '', depth, signature = ''] =
      /^((\w+)\.(\d{1,2}))\.([\w-]{22})$/.exec(header ?? '') ?? []
    if (callId === '') return undefined
    const isOurs = timingSafeEqual(Buffer.from(signature), Buffer.from(this.#sign(text)))
    return isOurs ? { parentCallId: callId, depth: Number(depth) + 1 } : undefined
  }

  /**
   * In one go, because Node's HMAC takes thirty times as long, on every call. Half of the hash is kept back, so nobody can
   * go on from it and sign a longer text.
   */
  #sign(text: string): string {
    return hash('sha256', this.#key + text, 'base64url').slice(0, 22)
  }
}
