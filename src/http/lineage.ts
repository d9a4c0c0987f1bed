import { hash, timingSafeEqual } from 'node:crypto'

/** Identifies the call that a request is made for. */
export const lineageHeader = 'x-quartermaster-call'

/** The parent of a call, and the depth of that call. */
export interface ParentCall {
  readonly parentCallId: string
  readonly depth: number
}

/**
 * Recognizes requests that the platform's own calls make back to the platform, so that tools that call each other in a cycle
 * over HTTP end. The platform cannot know all its host names, so every outbound request carries the id and depth of its call.
 * The header is signed, because other services see it. All they can do with it is make their own calls count as deeper.
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

  /** The parent call of a request; undefined if the header is missing or its signature is invalid. */
  read(header: string | undefined): ParentCall | undefined {
    const [, text = '', callId = '', depth, signature = ''] =
      /^((\w+)\.(\d{1,2}))\.([\w-]{22})$/.exec(header ?? '') ?? []
    if (callId === '') return undefined
    const isOurs = timingSafeEqual(Buffer.from(signature), Buffer.from(this.#sign(text)))
    return isOurs ? { parentCallId: callId, depth: Number(depth) + 1 } : undefined
  }

  /**
   * A plain hash, because Node's HMAC takes 30 times as long, on every call. Only half of the hash is sent, which prevents
   * length extension attacks.
   */
  #sign(text: string): string {
    return hash('sha256', this.#key + text, 'base64url').slice(0, 22)
  }
}
