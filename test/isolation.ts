import { startHostileUpstream, type Way } from './hostile-upstream.ts'
import { startPlatform, type TestPlatform } from './kit.ts'

export type Kind = 'http' | 'mcp'

/** The results of calls of two projects that use one hostile server. */
export interface Tally {
  calls: number
  /** Got the response to the call itself. */
  own: number
  /** Got the response to another call of the same project. */
  ofSameProject: number
  /** Got the response to a call of the other project. */
  ofOtherProject: number
  /** Got a response that belongs to no call. */
  ofNobody: number
  failed: number
}

const callers = 8

/** Two projects call their own tools on the same hostile server, each from several callers, in `rounds` rounds. */
export async function tallyCalls(kind: Kind, way: Way, rounds: number): Promise<Tally> {
  await using upstream = await startHostileUpstream(way)
  await using platform = await startPlatform()
  const other = (await platform.post('/projects', { name: 'Other' })).body.id as string
  const projects = [platform.projectId, other]
  const tools = await Promise.all(projects.map((project) => register(platform, kind, way, project, upstream.url)))
  const tally: Tally = { calls: 0, own: 0, ofSameProject: 0, ofOtherProject: 0, ofNobody: 0, failed: 0 }
  let n = 0
  const call = async (who: number) => {
    const input = { who: projects[who] as string, n: n++ }
    const answer = await platform.post(`/tools/${tools[who]}/call`, {
      input,
      ...(kind === 'mcp' && { action: 'echo' }),
    })
    count(tally, input, answer.status === 200 ? readCause(answer.body) : undefined)
  }
  const callOnAndOn = async (_: unknown, caller: number) => {
    for (let round = 0; round < rounds; round++) {
      await call(caller % 2)
      // Some connections are idle for a moment.
      if (round % 7 === caller % 7) await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  await Promise.all(Array.from({ length: callers }, callOnAndOn))
  return tally
}

async function register(platform: TestPlatform, kind: Kind, way: Way, project: string, url: string): Promise<string> {
  const { status, body } = await platform.post('/tools', {
    name: `echo-${kind}`,
    project_id: project,
    timeout_seconds: way === 'after the caller left' ? 0.3 : 5,
    ...(kind === 'http'
      ? { parameters: {}, execute: { url: `${url}/`, method: 'POST' } }
      : { type: 'mcp', mcp: { url: `${url}/mcp` } }),
  })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.id
}

function readCause(body: unknown): { who?: string; n?: number } {
  const text = JSON.stringify(body)
  const [, who, n] = /who\\*":\\*"([^"\\]+)\\*",\\*"n\\*":(-?\d+)/.exec(text) ?? []
  return who === undefined ? {} : { who, n: Number(n) }
}

function count(tally: Tally, input: { who: string; n: number }, cause: { who?: string; n?: number } | undefined): void {
  tally.calls++
  if (!cause) tally.failed++
  else if (cause.who === input.who && cause.n === input.n) tally.own++
  else if (cause.who === input.who) tally.ofSameProject++
  else if (cause.who === 'nobody' || cause.who === undefined) tally.ofNobody++
  else tally.ofOtherProject++
}
