import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type Connection, send } from '../../sdk/send.ts'
import { exit, type Runner, UsageError } from '../toolkit/command.ts'
import { connectionOf, Refused } from '../toolkit/connection.ts'
import { io, say } from '../toolkit/io.ts'
import { readArguments, textOf } from '../toolkit/parse.ts'

/** One line of the file: a query and its correct actions. */
interface Query {
  readonly query: string
  readonly relevant: readonly string[]
}

interface RankedQuery extends Query {
  /** The actions that were found, best first, as `app/action`. */
  readonly found: readonly string[]
}

export const run: Runner = async (invocation) => {
  const read = readArguments(invocation, 2)
  const [what, file] = read.words
  if (what !== 'resolve')
    throw new UsageError('Only "resolve" can be measured: quartermaster eval resolve queries.jsonl')
  if (file === undefined) throw new UsageError('The file with the queries is missing.')
  const serverId = textOf(read, 'server-id')
  if (serverId === undefined) throw new UsageError('--server-id is missing: the server to measure.')
  say(await evaluate(file, serverId, await connectionOf(read.given)))
  return exit.ok
}

const batchSize = 50

/** Resolves with the report. */
async function evaluate(file: string, serverId: string, connection: Connection): Promise<string> {
  const queries = readLines(file === '-' ? await text(io().stdin) : await read(file))
  const answered: RankedQuery[] = []
  for (let start = 0; start < queries.length; start += batchSize) {
    const some = queries.slice(start, start + batchSize)
    const { data, error } = await send(
      connection,
      { route: 'POST /servers/{server_id}/resolve' },
      { path: { server_id: serverId }, body: { integration_query: some.map(({ query }) => query), limit: 10 } },
    )
    if (error) throw new Refused(error, connection.baseUrl)
    const { results } = data as { results: { candidates: { slug: string; identifier: string }[] }[] }
    for (const [at, one] of some.entries()) {
      const found = (results[at]?.candidates ?? []).map(({ slug, identifier }) => `${slug}/${identifier}`)
      answered.push({ ...one, found })
    }
  }
  return report(answered)
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`Cannot read ${file} (${error.code}).`)
  })
}

function readLines(content: string): Query[] {
  const lines = content.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [parseQuery(line, at + 1)]))
  if (lines.length === 0) throw new UsageError('The file contains no queries.')
  return lines
}

function parseQuery(line: string, number: number): Query {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new UsageError(`Line ${number} is not JSON.`)
  }
  const { query, relevant } = (value ?? {}) as Record<string, unknown>
  const isValid = Array.isArray(relevant) && relevant.length > 0 && relevant.every((one) => typeof one === 'string')
  if (typeof query !== 'string' || !isValid) {
    throw new UsageError(
      `Line ${number} must have a "query" and a list of "relevant" actions, written as "app/action".`,
    )
  }
  return { query, relevant }
}

function report(answered: readonly RankedQuery[]): string {
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
      ({ query, relevant, found }) =>
        `missed: "${query}" expected ${relevant.join(' or ')}, got ${found[0] ?? 'nothing'}`,
    ),
  ].join('\n')
}
