import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { type Way, ways } from './hostile-upstream.ts'
import { type Kind, type Tally, tallyCalls } from './isolation.ts'
import { startPlatform } from './kit.ts'
import { soak } from './soak.ts'

const rounds = soak ? 100 : 30
const cases = (['http', 'mcp'] as const satisfies Kind[]).flatMap((kind) => ways.map((way) => [kind, way] as const))

const tallies = new Map<string, Promise<Tally>>()

/** The results of many calls, which are made once for all tests. */
function tallyOf(kind: Kind, way: Way): Promise<Tally> {
  const key = `${kind} ${way}`
  const tally = tallies.get(key) ?? tallyCalls(kind, way, rounds)
  tallies.set(key, tally)
  return tally
}

test.each(cases)(
  'no project receives a response to a call of another project from an %s upstream that responds "%s"',
  async (kind, way) => {
    const tally = await tallyOf(kind, way)

    expect(tally.calls).toBe(8 * rounds)
    expect(tally.ofOtherProject).toBe(0)
  },
)

test.each(['http', 'mcp'] as const)(
  'surplus and late responses of an %s upstream do not reach other calls of the same project',
  async (kind) => {
    const surplus = await tallyOf(kind, 'same packet')
    const late = await tallyOf(kind, 'after the caller left')

    expect(surplus).toMatchObject({ own: 8 * rounds, ofSameProject: 0 })
    expect(late.own).toBeGreaterThan(0)
    expect(late.failed).toBeGreaterThan(0)
    expect(late.ofSameProject + late.ofOtherProject + late.ofNobody).toBe(0)
  },
)

test('tools, webhooks and AI providers of two projects, or with two credentials, never use one connection', async () => {
  const users = new Map<number, Set<string>>()
  const server = createServer((request, response) => {
    const port = request.socket.remotePort as number
    const user = `${request.headers.authorization ?? ''} ${request.url}`
    users.set(port, (users.get(port) ?? new Set()).add(user))
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await using platform = await startPlatform()
  const other = (await platform.post('/projects', { name: 'Other' })).body.id as string
  const create = async (path: string, body: object, call: string) => {
    const created = await platform.post(path, body)
    expect(created.status, JSON.stringify(created.body)).toBe(201)
    return `${path}/${created.body.id}/${call}`
  }
  const paths: string[] = []
  for (const project_id of [platform.projectId, other]) {
    for (const key of ['a', 'b']) {
      const name = `it-${key}`
      const at = `/${project_id}/${key}`
      const execute = { url: `${url}/same`, method: 'POST', headers: { authorization: at } }
      paths.push(await create('/tools', { project_id, name, parameters: {}, execute }, 'call'))
      paths.push(await create('/webhooks', { project_id, name, url: url + at, events: ['*'] }, 'test'))
      const provider = { type: 'openai-compatible', base_url: url, default_model: 'm', api_key: at, max_retries: 0 }
      paths.push(await create('/ai-providers', { project_id, name, ...provider }, 'test'))
    }
  }

  for (let round = 0; round < 5; round++) {
    for (const path of paths) await platform.post(path, {})
    await Promise.all(paths.map((path) => platform.post(path, {})))
  }
  server.closeAllConnections()
  server.close()

  const seen = new Set([...users.values()].flatMap((each) => [...each]))
  expect(seen.size).toBe(paths.length)
  expect([...users.values()].filter((each) => each.size > 1)).toEqual([])
})
