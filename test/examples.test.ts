import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { adminKey } from './kit.ts'
import { startProcess, temporaryFolder } from './process.ts'

const root = new URL('..', import.meta.url).pathname

/** Runs an example as its README says, with its own platform. */
async function runExample(
  program: string,
  environment: Record<string, string> = {},
): Promise<{ code: number | null; output: string; errors: string }> {
  await using folder = await temporaryFolder()
  await using platform = await startProcess(folder.path, {
    QM_ADMIN_KEY: adminKey,
    QM_EMBEDDINGS: 'off',
    ...environment,
  })
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
  // Two calls run at once, so their order varies.
  expect([...rest.slice(0, 2).sort(), ...rest.slice(2)]).toEqual([
    'get_order: {"number":"1042","status":"with the courier","days":2}',
    'help_search_articles: "A parcel that is late by a week is sent again, free of charge."',
    'agent says: Order 1042 is with the courier. A parcel that is late by a week is sent again, free of charge.',
  ])
})

test('examples/mcp-client: a client uses one server directly and another in agent mode', {
  timeout: 60_000,
}, async () => {
  const { code, output, errors } = await runExample('examples/mcp-client/main.ts', { QM_SAMPLE: 'true' })
  expect(code, errors).toBe(0)
  expect(output.trim().split('\n')).toEqual([
    expect.stringMatching(/^direct mode: \d+ tools$/),
    expect.stringMatching(/^found: .*Ada Almeida/),
    expect.stringMatching(/^agent mode: .*RESOLVE_ACTIONS, EXECUTE_ACTION$/),
    'best: finance exchange-rate',
    expect.stringMatching(/^rate: .*6\.2/),
  ])
})

test('examples/gateway: three MCP servers from npm behind one endpoint', { timeout: 120_000 }, async () => {
  const { code, output, errors } = await runExample('examples/gateway/main.ts', { QM_ALLOW_STDIO: 'true' })
  expect(code, errors).toBe(0)
  const [counts, echo, found, ...calls] = output.trim().split('\n')
  expect(counts).toMatch(/^everything: \d+, memory: \d+, files: 3$/)
  expect(echo).toContain('Hello')
  expect(found).toContain('prefers e-mail')
  expect(calls).toEqual(['memory:search_nodes success', 'memory:create_entities success', 'everything:echo success'])
})

test('examples/embedded: the platform inside a program', { timeout: 60_000 }, async () => {
  const { code, output, errors } = await runExample('examples/embedded/main.ts')
  expect(code, errors).toBe(0)
  expect(output.trim()).toBe('["/hours.md"]\nBom dia, Ana!')
})

test('examples/github-api: the oldest bug is closed through RESOLVE_ACTIONS and EXECUTE_ACTION', {
  timeout: 60_000,
}, async () => {
  const { code, output, errors } = await runExample('examples/github-api/main.ts')
  expect(code, errors).toBe(0)
  expect(output.trim().split('\n')).toEqual([
    'github: 5 actions',
    'List repository issues GitHub: issues_list-for-repo',
    'oldest: {"number":5,"title":"Wrong total in the report"}',
    'Update an issue GitHub: issues_update',
    'closed: {"number":5,"state":"closed"}',
    expect.stringMatching(/^tokens: \d+ in agent mode, \d+ in direct mode$/),
  ])
})

test('examples/authenticate-and-answer: with a reevaluation tool the answer comes in the same turn, without it in the next (S1.37, S1.38)', {
  timeout: 60_000,
}, async () => {
  const { code, output, errors } = await runExample('examples/authenticate-and-answer/main.ts')
  expect(code, errors).toBe(0)
  const question = 'customer: How much is in my savings account? My PIN is 1234.'
  const authenticated = '  crm:authenticate_customer: {"authenticated":true}'
  const answer = [
    '  crm:get_balance: {"account":"savings","balance":42}',
    'agent: You have 42 euros in your savings account.',
  ]
  expect(output.trimEnd().split('\n')).toEqual([
    'With the reevaluation tool, one turn is enough:',
    ...[question, authenticated, ...answer],
    'Without it, the answer comes in the next turn:',
    ...[question, authenticated, 'agent: Thank you, you are authenticated. What can I do for you?'],
    ...['customer: So, how much is it?', ...answer],
  ])
})

test('examples/two-users: two people use one server with their own accounts, and one connects again in the middle of a run', {
  timeout: 60_000,
}, async () => {
  const { code, output, errors } = await runExample('examples/two-users/main.ts')
  expect(code, errors).toBe(0)
  expect(output.trim().split('\n')).toEqual([
    'ada via MCP: 2 tools, Notes of ada: Note of ada',
    'ben via MCP: 2 tools, Notes of ben: Note of ben',
    "ada's run: requires_action, notes_add is expired",
    "ben opens ada's link: This link was made for another user. Sign in as that user to connect the account.",
    "ben's run: completed, Notes of ben: Note of ben, Call the bank",
    "ada's run: completed, Notes of ada: Note of ada, Call the bank",
  ])
})

test('examples/onboard-customer: a workflow waits for an approval, undoes what it did if a step fails, and a program does the same', {
  timeout: 60_000,
}, async () => {
  const { code, output, errors } = await runExample('examples/onboard-customer/main.ts')
  expect(code, errors).toBe(0)
  const [first, second, program] = output.trim().split(/\n(?=\S)/)
  // Invitations are sent two at a time, so their order varies.
  const effects = (part = '') => /effects: (.*)/.exec(part)?.[1]?.split(', ').sort()
  const sent = (company: string, n: number, emails: string[]) =>
    [
      ...[`POST contracts ${emails.length}`, `POST accounts ${company}`, `POST subscriptions contract-${n}`],
      ...emails.map((email) => `POST invitations ${email}`),
    ].sort()
  expect(first).toContain('Rita approves accounts:create_account')
  expect(first).toContain('lead done, contract done, account done, invitations done, subscription done, welcome done')
  expect(first).toContain('completed: {"account":"account-1","invited":["ana@ana.example","ben@ana.example","cem@')
  expect(effects(first)).toEqual(
    expect.arrayContaining(sent('Ana & Co', 1, ['ana@ana.example', 'ben@ana.example', 'cem@ana.example'])),
  )
  expect(second).toContain('failed: The workflow "onboard" failed at step "subscription"')
  expect(effects(second)).toEqual([...sent('Broke Inc', 2, ['dana@broke.example']), 'DELETE accounts account-2'].sort())
  expect(program).toContain('{"success":true,"data":{"account":"account-3","invited":["eva@eva.example","finn@')
  expect(effects(program)).toEqual(expect.arrayContaining(sent('Eva GmbH', 3, ['eva@eva.example', 'finn@eva.example'])))
})

test('examples/xml-agent: a model that writes XML uses three servers, and recovers from an error, a mode and an approval', {
  timeout: 60_000,
}, async () => {
  const { code, output, errors } = await runExample('examples/xml-agent/main.ts')
  expect(code, errors).toBe(0)
  expect(output.trim().split('\n')).toEqual([
    'model: I will look at the order.',
    '  shop get_order: error (VALIDATION_FAILED)',
    'model: The number must be text.',
    '  shop get_order: success',
    'model: It was delivered. I will pay the money out.',
    '  bank pay_out: denied (MODE_RESTRICTED)',
    'model: I am not allowed to pay out. A refund will do.',
    '  a person approves bank:refund',
    '  bank refund: success',
    'model: Now I tell the customer.',
    '  mail send: success',
    'model: Order 1042 is refunded, and Ana has a message about it.',
  ])
})
