import type { IncomingMessage, ServerResponse } from 'node:http'
import { PlatformError } from '../model/errors.ts'

/**
 * A short way for requests that there are many of, with nothing between them and Node's own request and response. It
 * answers a request and says so, or leaves it alone. One that it leaves only after a look at the body it hands on.
 */
export type Lane = (request: IncomingMessage, response: ServerResponse, longWay: () => void) => boolean

/** Whether a request has a JSON body of a length that is known and not too large. */
export const hasPlainJson = ({ method, headers }: IncomingMessage, bodyLimit: number): boolean =>
  method === 'POST' && headers['content-type'] === 'application/json' && Number(headers['content-length']) <= bodyLimit

export function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)))
    request.on('error', (cause) => reject(new PlatformError('BODY_INCOMPLETE', {}, { cause })))
  })
}

/** The long way finds the body here, since it cannot be read twice. */
export function handOn(request: IncomingMessage, body: Buffer, longWay: () => void): void {
  Object.assign(request, { rawBody: body })
  longWay()
}

export function write(response: ServerResponse, status: number, headers: Record<string, string>, text: string): void {
  const length = Buffer.byteLength(text)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers }).end(text)
}

export async function writeResponse(response: ServerResponse, answer: Response): Promise<void> {
  write(response, answer.status, Object.fromEntries(answer.headers), await answer.text())
}

/** Aborted when the one who asked has left before the answer. */
export function whenGone(response: ServerResponse): AbortController {
  const left = new AbortController()
  const leave = () => {
    if (!response.writableEnded) left.abort()
  }
  if (response.destroyed) leave()
  else response.once('close', leave)
  return left
}
