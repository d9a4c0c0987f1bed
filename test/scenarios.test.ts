import { globSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { runScenario } from '../src/cli/scenarios/run-scenario.ts'
import { runCli } from './clients.ts'
import { temporaryFolder } from './process.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = globSync(['test/scenarios/*.yaml', 'examples/*/scenarios/*.yaml'], { cwd: root }).sort()

test('there are scenarios', () => {
  expect(files.length).toBeGreaterThan(30)
})

test.each(files.map((file) => ({ file, title: parse(readFileSync(join(root, file), 'utf8')).name })))(
  '$title',
  async ({ file }) => {
    const { failures } = await runScenario(join(root, file))
    expect(failures).toEqual([])
  },
)

const base = {
  manifest: {
    id: 'small',
    agent_config: { llms: { generation: { provider: 'replay', script: { steps: [{ answer: 'x' }] } } } },
  },
  model: [{ when: { last_user: 'Hi' }, answer: 'Hello' }],
  turns: [{ customer: 'Hi', expect: [{ message: 'Hello' }], model_calls: 1 }],
}

test.each([
  [
    'answers that are not used',
    { model: [...base.model, { name: 'spare', answer: 'x' }] },
    /spare was used 0 of 1 times/,
  ],
  ['calls that have no answer', { model: [] }, /a model call that no answer is left for/],
  ['another reply', { model: [{ answer: 'Bye' }] }, /expected {"message":"Hello"}, but got {"message":"Bye"}/],
  ['another number of calls', { turns: [{ customer: 'Hi', model_calls: 2 }] }, /expected model_calls 2, but got 1/],
  [
    'a prompt that lacks a text',
    { model: [{ answer: 'Hello', prompt_contains: ['Howdy'] }] },
    /does not contain "Howdy"/,
  ],
  ['an invalid manifest', { context: { policies: [{ id: 'x' }] } }, /policies\[0\]\.action: is missing/],
  ['an unknown field', { trns: [] }, /trns: is not a known field/],
])('a scenario fails with %s', async (_, change, failure) => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'scenario.yaml')
  await writeFile(path, stringify({ ...base, ...change }))

  const { failures } = await runScenario(path)

  expect(failures.join('\n')).toMatch(failure)
})

test('quartermaster test prints what failed, and its exit code says so', async () => {
  await using folder = await temporaryFolder()
  const path = join(folder.path, 'scenario.yaml')
  await writeFile(path, stringify(base))
  const passed = await runCli(['test', path, '--json'])
  await writeFile(path, stringify({ ...base, model: [] }))
  const failed = await runCli(['test', path])

  expect([passed.code, JSON.parse(passed.stdout).failed]).toEqual([0, 0])
  expect(failed.code).toBe(1)
  expect(failed.stdout).toContain('no answer is left')
})
