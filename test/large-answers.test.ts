import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { startPlatform, type TestPlatform } from './kit.ts'

const mebibyte = 1024 * 1024

/** Returns a megabyte of JSON whose last byte is sent by `end`, and collects the open responses. */
async function startLargeService(declared: boolean) {
  const answers: ServerResponse[] = []
  const body = Buffer.from(JSON.stringify('x'.repeat(mebibyte - 2)))
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...(declared && { 'content-length': body.length }) })
    response.write(body.subarray(0, -1))
    answers.push(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    answers,
    end: () => {
      for (const answer of answers) answer.end(body.subarray(-1))
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const register = async (platform: TestPlatform, project_id: string, url: string) => {
  const { status, body } = await platform.post('/tools', {
    name: 'large',
    project_id,
    parameters: {},
    execute: { url },
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id as string
}

test.each([
  ['declared', true],
  ['not declared', false],
])(
  'many large responses at once, with a length that is %s, are all returned, and one project does not block another',
  async (_, declared) => {
    await using service = await startLargeService(declared)
    await using platform = await startPlatform({ QM_RESPONSE_LIMIT: String(mebibyte) })
    const other = (await platform.post('/projects', { name: 'Other' })).body.id as string
    const [busy, calm] = [
      await register(platform, platform.projectId, service.url),
      await register(platform, other, service.url),
    ]

    const calls = Array.from({ length: 12 }, () => platform.post(`/tools/${busy}/call`, { input: {} }))
    await expect.poll(() => service.answers.length).toBe(12)
    const another = platform.post(`/tools/${calm}/call`, { input: {} })
    await expect.poll(() => service.answers.length).toBe(13)
    service.answers.at(-1)?.end('"')

    expect((await another).status).toBe(200)
    service.end()
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    expect(statuses).toEqual(Array(12).fill(200))
  },
)

test('a call whose response waits for memory that other calls use still times out', async () => {
  await using service = await startLargeService(true)
  await using platform = await startPlatform({ QM_RESPONSE_LIMIT: String(mebibyte) })
  const id = await register(platform, platform.projectId, service.url)
  await platform.patch(`/tools/${id}`, { timeout_seconds: 1 })

  const answers = await Promise.all(Array.from({ length: 8 }, () => platform.post(`/tools/${id}/call`, { input: {} })))

  expect(new Set(answers.map(({ body }) => body.error?.code))).toEqual(new Set(['TOOL_TIMEOUT']))
  service.end()
  const again = platform.post(`/tools/${id}/call`, { input: {} })
  await expect.poll(() => service.answers.length).toBe(9)
  service.answers.at(-1)?.end('"')
  expect((await again).status).toBe(200)
})
