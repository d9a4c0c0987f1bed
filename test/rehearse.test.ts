import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli, startListening } from './clients.ts'
import { manifestOf, matching, startMcpProcess } from './guided-kit.ts'
import { adminKey } from './kit.ts'
import { temporaryFolder } from './process.ts'
import { TestSession } from './sessions-kit.ts'

const policies = Array.from({ length: 10 }, (_, n) => ({ id: `p${n}`, condition: `topic ${n}`, action: `Do p${n}` }))
const script = [
  matching(['new'], { matches: 'refund[\\s\\S]*\\bnew[?]' }),
  matching(['p1'], { matches: 'refund[\\s\\S]*apply: p0' }),
  matching([]),
  { when: {}, answer: 'Ok' },
]

test('a rehearsal shows what a changed manifest would change, asks only what is new, and changes nothing', async () => {
  await using platform = await startListening()
  await using folder = await temporaryFolder()
  const { id, text } = manifestOf({ script, context: { policies } })
  expect((await platform.post('/manifests', { manifest: text })).status).toBe(200)
  const session = await TestSession.start(platform, id)
  await session.say('Hello')
  await session.say('I want a refund')
  const before = await session.events('?limit=1000')

  const same = await platform.post('/manifests/rehearse', { manifest: text })
  const changed = text
    .replace('        action: Do p1\n', '        action: Do p1\n        when: session.metadata.vip == true\n')
    .concat('      - id: new\n        condition: wants money back\n        action: Be careful\n')
  const other = await platform.post('/manifests/rehearse', { manifest: changed })

  // Ten policies and one reply in each turn.
  expect(same.body).toEqual({ sessions: 1, turns: 2, changed: [], reused: 22, asked: 0, cost: 0, faults: [] })
  expect(other.status, JSON.stringify(other.body)).toBe(200)
  expect(other.body.changed).toMatchObject([
    { message: 'I want a refund', applies: { added: ['policy:new'], removed: ['policy:p1'] }, reply: null },
  ])
  // The new policy in both turns, and the reply with other instructions.
  expect(other.body).toMatchObject({ reused: 19, asked: 3 })
  expect(await session.events('?limit=1000')).toEqual(before)

  const path = join(folder.path, 'changed.yaml')
  await writeFile(path, changed)
  const environment = { QM_URL: platform.url, QM_KEY: adminKey }
  const printed = await runCli(['rehearse', path, '--sessions', 'last:200', '--json'], environment)
  const chosen = await runCli(['rehearse', path, '--sessions', session.id], { ...environment, FORCE_COLOR: '0' })
  const wrong = await runCli(['rehearse', path, '--sessions', 'all'], environment)
  expect(printed.code, printed.stderr).toBe(0)
  expect(JSON.parse(printed.stdout)).toMatchObject({ turns: 2, changed: [{ message: 'I want a refund' }] })
  expect(chosen.stdout).toContain('policy:new')
  expect(wrong.code).toBe(2)
})

test('a rehearsal plays all steps of a turn, with recorded results, up to the first other call', async () => {
  await using platform = await startListening()
  await using bank = await startMcpProcess('bank')
  const rich = "tools['bank:get_balance'].result.balance > 40"
  const context = {
    reevaluation_tools: [{ id: 'bank:get_balance' }],
    policies: [
      { id: 'look', condition: 'asks for the balance', action: 'Look it up', tools: 'bank:get_balance' },
      { id: 'rich', when: rich, action: 'Offer savings' },
      { id: 'promise', action: 'Never promise interest', applies_to: 'reply' },
    ],
    routines: [
      {
        id: 'bye',
        title: 'Bye',
        when: "message.contains('bye')",
        entry: 'end',
        nodes: [{ id: 'end', chat_state: 'Say bye' }],
      },
    ],
  }
  const call = (account: string) => ({ tool_calls: [{ name: 'bank_get_balance', args: { account } }] })
  const { id, text } = manifestOf({
    mcps: [{ id: 'bank', port: bank.port }],
    context,
    script: [
      matching(['look'], { matches: '^(?![\\s\\S]*"bye")[\\s\\S]*balance' }),
      matching([]),
      { when: { last_user: '[check-reply]' }, answer: { text: '{"violations":[]}' } },
      { when: { last_user: 'Use the current account', last_tool: null }, answer: call('current') },
      { when: { last_user: 'Look it up', last_tool: null }, answer: call('savings') },
      { when: { last_user: 'Offer a card' }, answer: 'Take a card' },
      { when: {}, answer: 'Fine' },
    ],
  })
  expect((await platform.post('/manifests', { manifest: text })).status).toBe(200)
  const session = await TestSession.start(platform, id)
  await session.say('What is my balance?')
  await session.say('bye')
  const calls = bank.calls.length
  const rehearsed = async (manifest: string) => (await platform.post('/manifests/rehearse', { manifest })).body

  const same = await rehearsed(text)
  const laterStep = await rehearsed(text.replace('Offer savings', 'Offer a card'))
  const otherCall = await rehearsed(text.replace('action: Look it up', 'action: Use the current account'))
  const noRoutine = await rehearsed(text.replace("message.contains('bye')", "message == 'no'"))
  const check = await rehearsed(text.replace('Never promise interest', 'Never promise anything'))

  expect(same).toMatchObject({ changed: [], asked: 0, turns: 2 })
  // The result of the tool counts in the next turn, too.
  const reply = { before: 'Fine', after: 'Take a card' }
  expect(laterStep.changed).toMatchObject([
    { message: 'What is my balance?', calls: { added: [], removed: [] }, reply },
    { message: 'bye', reply },
  ])
  expect(otherCall.changed).toMatchObject([
    {
      message: 'What is my balance?',
      applies: { added: [], removed: [] },
      calls: {
        added: ['bank:get_balance {"account":"current"}'],
        removed: ['bank:get_balance {"account":"savings"}'],
      },
      reply: null,
    },
  ])
  expect(noRoutine.changed).toMatchObject([{ message: 'bye', nodes: { added: [], removed: ['bye/end'] } }])
  // Only the check of the two replies is asked again.
  expect(check).toMatchObject({ changed: [], asked: 2 })
  expect(bank.calls).toHaveLength(calls)
})

test('a model that fails in a rehearsal is reported, and the other turns are rehearsed', async () => {
  await using platform = await startListening()
  const { id, text } = manifestOf({
    context: { policies: [{ id: 'polite', action: 'Be polite' }] },
    script: [
      { when: { last_user: { matches: 'Break[\\s\\S]*Be rude' } }, error: { status: 400, message: 'no' } },
      { when: { last_user: 'Be rude' }, answer: 'What?' },
      { when: {}, answer: 'Hello' },
    ],
  })
  await platform.post('/manifests', { manifest: text })
  const session = await TestSession.start(platform, id)
  await session.say('Break')
  await session.say('Hi')

  const { body } = await platform.post('/manifests/rehearse', {
    manifest: text.replace('action: Be polite', 'action: Be rude'),
  })

  expect(body.faults).toHaveLength(1)
  expect(body.changed).toMatchObject([{ message: 'Hi', reply: { before: 'Hello', after: 'What?' } }])
})
