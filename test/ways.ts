import type { Platform } from '../src/main.ts'

export interface Posted {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

type Way = (path: string, headers: Record<string, string>, body: string) => Promise<Posted>

/** The responses to the same request over HTTP and from an embedded platform. */
export async function bothWays<T>(platform: Platform, url: string, ask: (way: Way) => Promise<T>): Promise<T[]> {
  const init = (headers: Record<string, string>, body: string) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  const posted = async (response: Response) => ({
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: await response.text(),
  })
  const onPort: Way = async (path, headers, body) => posted(await fetch(`${url}${path}`, init(headers, body)))
  const embedded: Way = async (path, headers, body) =>
    posted(await platform.fetch(`${url}${path}`, init(headers, body)))
  return [await ask(onPort), await ask(embedded)]
}
