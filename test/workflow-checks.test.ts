import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startPlatform, type TestPlatform } from './kit.ts'
import { run } from './process.ts'

const text = { type: 'string' }

async function withTools(): Promise<TestPlatform> {
  const platform = await startPlatform()
  const tool = (name: string, method: string, properties: object) =>
    platform.post('/tools', {
      ...{ name, app: 'crm', parameters: { type: 'object', properties, required: Object.keys(properties) } },
      execute: { url: `http://127.0.0.1:9/${name}`, method },
    })
  await tool('find', 'GET', { email: text })
  await tool('charge', 'POST', { amount: { type: 'number' } })
  return platform
}

const faultsOf = async (platform: TestPlatform, workflow: object, name = 'flow'): Promise<string[]> => {
  const { body } = await platform.post('/tools', { name, app: 'crm', type: 'workflow', workflow })
  return (body.error?.details.errors ?? []).map(
    ({ path, message }: { path: string; message: string }) => `${path}: ${message}`,
  )
}

const input = {
  type: 'object',
  properties: {
    email: text,
    people: { type: 'array', items: { type: 'object', properties: { age: { type: 'integer' } } } },
  },
}

describe('a workflow is refused before it runs, with the place of each mistake', async () => {
  const find = { id: 'find', call: 'crm:find', input: { email: '${{ input.email }}' } }
  const cases: [title: string, workflow: object, fault: string][] = [
    [
      'unknown action',
      { steps: [{ ...find, call: 'crm:fin', input: {} }] },
      'workflow.steps[0].call: there is no action "crm:fin"; did you mean "crm:find"?',
    ],
    [
      'unknown field of the input',
      { input, steps: [{ ...find, input: { email: '${{ input.emial }}' } }] },
      'workflow.steps[0].input.email: in "input.emial", there is no field "emial"; did you mean "email"?',
    ],
    [
      'unknown field of an item',
      { input, steps: [{ ...find, for_each: 'input.people', input: { email: '${{ item.agge }}' } }] },
      'workflow.steps[0].input.email: in "item.agge", there is no field "agge"; did you mean "age"?',
    ],
    [
      'wrong type',
      { input, steps: [{ id: 'pay', call: 'crm:charge', input: { amount: '${{ input.email }}' } }] },
      'workflow.steps[0].input.amount: must be of type number, but "input.email" is of type string',
    ],
    [
      'missing argument',
      { steps: [{ id: 'find', call: 'crm:find' }] },
      'workflow.steps[0].input.email: is missing: the action needs it',
    ],
    [
      'unknown argument',
      { input, steps: [{ ...find, input: { email: 'x', mail: 'y' } }] },
      'workflow.steps[0].input.mail: is not an argument of the action; did you mean "email"?',
    ],
    [
      'later step',
      {
        input,
        steps: [
          { ...find, if: 'steps.pay.output != null' },
          { id: 'pay', call: 'crm:charge', input: { amount: 1 } },
        ],
      },
      'workflow.steps[0].if: in "steps.pay.output != null", step "pay" runs later: a step can only refer to earlier ones',
    ],
    [
      'itself',
      { input, steps: [{ ...find, if: 'steps.find.output != null' }] },
      'workflow.steps[0].if: in "steps.find.output != null", step "find" refers to itself',
    ],
    [
      'unknown step',
      { input, steps: [find], output: '${{ steps.fnd.output }}' },
      'workflow.output: in "steps.fnd.output", there is no step "fnd"; did you mean "find"?',
    ],
    [
      'invalid expression',
      { input, steps: [{ ...find, if: 'input.email ==' }] },
      'workflow.steps[0].if: the expression "input.email ==" is not valid: Unexpected token: EOF',
    ],
    [
      'unclosed expression',
      { input, steps: [{ ...find, input: { email: '${{ input.email' } }] },
      'workflow.steps[0].input.email: has "${{" without "}}"',
    ],
    ['duplicate step', { input, steps: [find, find] }, 'workflow.steps[1].id: "find" is already the id of step 1'],
    [
      'a list that is none',
      { input, steps: [{ ...find, for_each: 'input.email' }] },
      'workflow.steps[0].for_each: must be a list, but "input.email" is of type string',
    ],
    [
      'secrets',
      { steps: [{ id: 'find', call: 'crm:find', input: { email: '${{ secrets.KEY }}' } }] },
      'workflow.steps[0].input.email: the expression "secrets.KEY" is not valid: Unknown variable: secrets',
    ],
  ]
  const platform = await withTools()
  test.each(cases)('%s', async (_, workflow, fault) => {
    expect(await faultsOf(platform, workflow)).toContain(fault)
  })
  test('nothing was stored', async () => {
    expect((await platform.get('/tools?type=workflow')).body.total).toBe(0)
    await platform[Symbol.asyncDispose]()
  })
})

test('a workflow cannot call itself, directly or through another one', async () => {
  await using platform = await withTools()
  const calls = (call: string) => ({ steps: [{ id: 'again', call }] })
  const { body: one } = await platform.post('/tools', {
    name: 'one',
    app: 'crm',
    type: 'workflow',
    workflow: calls('crm:find') && { steps: [{ id: 'find', call: 'crm:find', input: { email: 'x' } }] },
  })
  await platform.post('/tools', { name: 'two', app: 'crm', type: 'workflow', workflow: calls('crm:one') })

  const { body } = await platform.patch(`/tools/${one.id}`, { workflow: calls('crm:two') })
  const direct = await platform.patch(`/tools/${one.id}`, { workflow: calls('crm:one') })

  expect(body.error.message).toContain('the workflow would call itself: crm:one → crm:two → crm:one')
  expect(direct.body.error.message).toContain('the workflow would call itself: crm:one → crm:one')
})

test('check-workflow reports errors and unused steps without storing anything', async () => {
  await using platform = await withTools()

  const { body } = await platform.post('/workflows/check', {
    workflow: {
      input,
      steps: [
        { id: 'find', call: 'crm:find', input: { email: '${{ input.email }}' } },
        { id: 'pay', call: 'crm:charge', input: { amount: '${{ input.nothing }}' } },
      ],
    },
  })

  expect(body).toMatchObject({ valid: false })
  expect(body.problems).toEqual([
    {
      severity: 'error',
      path: 'workflow.steps[1].input.amount',
      at: 10,
      message: 'in "input.nothing", there is no field "nothing"',
    },
    {
      severity: 'warning',
      path: 'workflow.steps[0]',
      at: null,
      message: 'the output of step "find" is not used, and its call changes nothing',
    },
  ])
})

test('quartermaster check reports the line and column of a mistake in a workflow', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-'))
  const file = join(folder, 'quartermaster.yaml')
  const lines = [
    'tools:',
    '  crm/find:',
    '    parameters: { type: object, properties: { email: { type: string } }, required: [email] }',
    '    execute: { url: "http://127.0.0.1:9/find", method: GET }',
    '  crm/flow:',
    '    type: workflow',
    '    workflow:',
    '      input: { type: object, properties: { email: { type: string } } }',
    '      steps:',
    '        - id: find',
    '          call: crm:find',
    '          input:',
    '            email: ${{ input.emial }}',
    '        - id: other',
    '          call: elsewhere:thing',
    '          input: { a: 1 }',
  ]
  await writeFile(file, lines.join('\n'))

  const { code, output } = await run(['check', file])
  await rm(folder, { recursive: true })

  expect(code).toBe(1)
  expect(output).toContain(
    `${file}:13:30: tools.crm/flow.workflow.steps.0.input.email in "input.emial", there is no field "emial"; did you mean "email"?`,
  )
  expect(output).not.toContain('elsewhere:thing')
})
