/**
 * A short way for requests that there are many of. It is asked once for each head, and again only when another one comes,
 * so it goes by what the head says and nothing else; what it takes, it serves whenever a body comes with that head.
 */
export type Lane = (head: Head) => Serve | undefined

export type Serve = (body: Buffer, reply: Reply) => void

export function findServe(head: Head, lanes: readonly Lane[]): Serve | undefined {
  for (const lane of lanes) {
    const serve = lane(head)
    if (serve) return serve
  }
  return undefined
}

/** The head of a plain request: a POST of JSON, of a length that is known, with every header once. */
export interface Head {
  readonly path: string
  readonly headers: Headers
}

export type Headers = Readonly<Record<string, string | undefined>>

/** The answer to one request. */
export interface Reply {
  /** The answer, whole. */
  send(status: number, headers: Readonly<Record<string, string>>, text: string): void
  /** A part of an answer that comes as a stream of events; the first begins it. */
  say(text: string): void
  /** Ends such a stream. */
  end(text?: string): void
  readonly isStream: boolean
  /** The one who asked has left. */
  readonly isGone: boolean
  /** Called once, when the one who asked leaves before the answer is out. */
  onGone(leave: () => void): void
  /** Not a request for a lane, after all: whoever answers everything else finds it as it came. */
  handOn(): void
}

export async function sendResponse(reply: Reply, answer: Response): Promise<void> {
  reply.send(answer.status, Object.fromEntries(answer.headers), await answer.text())
}

/** Aborted when the one who asked has left before the answer. */
export function whenGone(reply: Reply): AbortController {
  const left = new AbortController()
  if (reply.isGone) left.abort()
  else reply.onGone(() => left.abort())
  return left
}
