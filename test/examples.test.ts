import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey } from './kit.ts'

const root = new URL('..', import.meta.url).pathname

/** Runs a program of the examples as its README says, against a platform of its own. */
async function runExample(program: string): Promise<{ code: number | null; output: string; errors: string }> {
  await using platform = await startListening()
  const child = spawn(process.execPath, [program], {
    cwd: root,
    env: { PATH: process.env.PATH, QM_URL: platform.url, QM_KEY: adminKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [code, output, errors] = await Promise.all([
    new Promise<number | null>((resolve) => child.once('close', resolve)),
    text(child.stdout),
    text(child.stderr),
  ])
  return { code, output, errors }
}

test('examples/support-agent: an agent with http, mcp and client tools answers a customer', {
  timeout: 60_000,
}, async () => {
  const { code, output, errors } = await runExample('examples/support-agent/main.ts')
  expect(code, errors).toBe(0)
  const [first, second, ...rest] = output.trim().split('\n')
  expect([first, second]).toEqual(['agent asks: Which order is it about?', 'ask_customer: "It is order 1042."'])
  // Two calls at once: whichever ends first is heard of first.
  expect([...rest.slice(0, 2).sort(), ...rest.slice(2)]).toEqual([
    'get_order: {"number":"1042","status":"with the courier","days":2}',
    'help_search_articles: "A parcel that is late by a week is sent again, free of charge."',
    'agent says: Order 1042 is with the courier. A parcel that is late by a week is sent again, free of charge.',
  ])
})
