import { expect, test } from 'vitest'
import { Outbound } from '../../http/outbound.ts'
import { Upstreams } from './upstreams.ts'

const user = (tool: string) => ({ project: 'proj_1', tool, name: tool, app: 'test' })

const start = () => {
  const outbound = new Outbound({ allowLoopback: true, allow: [], maxResponseBytes: 1000 })
  const upstreams = new Upstreams(outbound)
  return {
    upstreams,
    async [Symbol.asyncDispose]() {
      await upstreams.close()
      await outbound.close()
    },
  }
}

test('a connection is shared until the last tool that uses it is gone', async () => {
  await using started = start()
  const { upstreams } = started
  const address = { url: 'http://127.0.0.1:1/mcp' }
  const first = upstreams.at(address, user('tool_1'))

  expect(upstreams.at(address, user('tool_2'))).toBe(first)
  upstreams.release(['tool_1'])
  expect(upstreams.at(address, user('tool_2'))).toBe(first)
  upstreams.release(['tool_2'])
  expect(upstreams.at(address, user('tool_2'))).not.toBe(first)
})

test('the number of programs is bounded, and the oldest makes room for a new one', async () => {
  await using started = start()
  const { upstreams } = started
  const program = (n: number) => upstreams.at({ command: `program-${n}` }, user(`tool_${n}`))
  const first = program(0)

  for (let n = 1; n < 100; n++) program(n)

  expect(program(99)).toBe(program(99))
  expect(program(0)).not.toBe(first)
})

test('a program that has been idle for long is stopped, and a remote server stays connected', async () => {
  await using started = start()
  const { upstreams } = started
  const at = () => [
    upstreams.at({ command: 'program' }, user('a')),
    upstreams.at({ url: 'http://127.0.0.1:1' }, user('b')),
  ]
  const [program, server] = at()

  upstreams.sweep(Date.now() + 60 * 60_000)
  const [programAfter, serverAfter] = at()

  expect(programAfter).not.toBe(program)
  expect(serverAfter).toBe(server)
})
