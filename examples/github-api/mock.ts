import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Issue {
  readonly number: number
  readonly title: string
  state: string
  readonly created_at: string
  readonly labels: readonly { readonly name: string }[]
}

const issue = (number: number, title: string, created_at: string, ...labels: string[]): Issue => ({
  number,
  title,
  state: 'open',
  created_at,
  labels: labels.map((name) => ({ name })),
})

/** Answers like GitHub for the issues of one repository, so that the example changes nothing real. */
export async function startMock(token: string) {
  const issues = [
    issue(7, 'Crash on empty input', '2026-03-01T10:00:00Z', 'bug'),
    issue(3, 'Typo in the guide', '2026-01-15T10:00:00Z', 'docs'),
    issue(5, 'Wrong total in the report', '2026-02-01T10:00:00Z', 'bug'),
  ]
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://mock')
    const answer = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (request.headers.authorization !== `Bearer ${token}`) return answer(401, { message: 'Bad credentials' })
    const number = Number(/\/issues\/(\d+)$/.exec(url.pathname)?.[1])
    if (request.method === 'GET' && url.pathname.endsWith('/issues'))
      return answer(200, listed(issues, url.searchParams))
    const found = issues.find((one) => one.number === number)
    if (!found) return answer(404, { message: 'Not Found' })
    if (request.method === 'PATCH') {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part)
      Object.assign(found, JSON.parse(Buffer.concat(parts).toString()))
    }
    return answer(200, found)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() }
}

function listed(issues: readonly Issue[], query: URLSearchParams): Issue[] {
  const label = query.get('labels')
  const state = query.get('state') ?? 'open'
  const sign = query.get('direction') === 'asc' ? 1 : -1
  return issues
    .filter((one) => state === 'all' || one.state === state)
    .filter((one) => label === null || one.labels.some(({ name }) => name === label))
    .sort((a, b) => sign * a.created_at.localeCompare(b.created_at))
    .slice(0, Number(query.get('per_page') ?? 30))
}
