import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { ApiError } from '../sdk/outcome.ts'
import { type Connection, send } from '../sdk/send.ts'
import { UsageError } from './command.ts'
import type { Given } from './flags.ts'

/** One line of the file: a request, and the actions that would be right for it. */
interface Asked {
  readonly query: string
  readonly relevant: readonly string[]
}

interface Answered extends Asked {
  /** The actions that were found, best first, as `app/action`. */
  readonly found: readonly string[]
}

export const evalUsage = `Usage: quartermaster eval resolve <queries.jsonl> --server-id <id or slug> [--url <url>] [--key <sk_…>]

Measures how well a server finds the right action for your own requests. Each line of the file is
{"query": "List contacts Salesforce", "relevant": ["salesforce/get_contacts"]}: any of those named is right.
The file may be - for standard input. Prints how often the right action came first (Hit@1) and among the first
five (R@5), and how far up it was (NDCG@10), then the requests whose first action was wrong.`

const atOnce = 50

/** Resolves with what to print. Throws the platform's own error where it answers one. */
export async function evaluate(file: string, serverId: string, connection: Connection): Promise<string> {
  const asked = readLines(file === '-' ? await text(process.stdin) : await read(file))
  const answered: Answered[] = []
  for (let start = 0; start < asked.length; start += atOnce) {
    const some = asked.slice(start, start + atOnce)
    const { data, error } = await send(
      connection,
      { route: 'POST /servers/{server_id}/resolve' },
      { path: { server_id: serverId }, body: { integration_query: some.map(({ query }) => query), limit: 10 } },
    )
    if (error) throw new Refused(error)
    const { results } = data as { results: { candidates: { slug: string; identifier: string }[] }[] }
    for (const [at, one] of some.entries()) {
      const found = (results[at]?.candidates ?? []).map(({ slug, identifier }) => `${slug}/${identifier}`)
      answered.push({ ...one, found })
    }
  }
  return report(answered)
}

/** The platform answered, but not what was asked for. */
export class Refused extends Error {
  readonly error: ApiError

  constructor(error: ApiError) {
    super(error.message)
    this.error = error
  }
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read ${file} (${error.code}).`)
  })
}

function readLines(content: string): Asked[] {
  const lines = content.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [toAsked(line, at + 1)]))
  if (lines.length === 0) throw new UsageError('The file has no requests.')
  return lines
}

function toAsked(line: string, number: number): Asked {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new UsageError(`Line ${number} is not JSON.`)
  }
  const { query, relevant } = (value ?? {}) as Record<string, unknown>
  const isRight = Array.isArray(relevant) && relevant.length > 0 && relevant.every((one) => typeof one === 'string')
  if (typeof query !== 'string' || !isRight) {
    throw new UsageError(`Line ${number} must have a "query" and the "relevant" actions, as "app/action".`)
  }
  return { query, relevant }
}

function report(answered: readonly Answered[]): string {
  const ranks = answered.map(({ relevant, found }) => found.findIndex((one) => relevant.includes(one)) + 1)
  const share = (worth: (rank: number) => number) =>
    ((100 * ranks.reduce((sum, rank) => sum + worth(rank), 0)) / ranks.length).toFixed(1)
  const missed = answered.filter((_, at) => ranks[at] !== 1)
  return [
    `queries  ${answered.length}`,
    `Hit@1    ${share((rank) => Number(rank === 1))} %`,
    `R@5      ${share((rank) => Number(rank > 0 && rank <= 5))} %`,
    `NDCG@10  ${share((rank) => (rank > 0 ? 1 / Math.log2(rank + 1) : 0))} %`,
    ...missed.map(
      ({ query, relevant, found }) => `missed: "${query}" wants ${relevant.join(' or ')}, got ${found[0] ?? 'nothing'}`,
    ),
  ].join('\n')
}

/** `eval resolve queries.jsonl --server-id desk`. */
export function readEval(args: readonly string[]): { file: string; serverId: string; given: Given } {
  const [what, file, ...rest] = args
  if (what !== 'resolve') throw new UsageError('What can be measured is "resolve".')
  if (file === undefined || file.startsWith('--')) throw new UsageError('The file of queries is missing.')
  const given = new Map<string, string[]>()
  for (let at = 0; at < rest.length; at += 2) {
    const name = /^--(server-id|url|key)$/.exec(rest[at] ?? '')?.[1]
    const value = rest[at + 1]
    if (name === undefined) throw new UsageError(`"${rest[at]}" is not a flag of eval.`)
    if (value === undefined) throw new UsageError(`--${name} needs a value.`)
    given.set(name, [value])
  }
  const serverId = given.get('server-id')?.[0]
  if (serverId === undefined) throw new UsageError('--server-id is missing: it names the server to measure.')
  return { file, serverId, given }
}
