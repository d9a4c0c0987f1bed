import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli, startListening } from './clients.ts'
import { manifestOf, matching } from './guided-kit.ts'
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

  expect(same.body).toEqual({ turns: 2, changed: [], reused: 4, asked: 0, cost: 0 })
  expect(other.status, JSON.stringify(other.body)).toBe(200)
  expect(other.body.changed).toMatchObject([
    { message: 'I want a refund', applies: { added: ['policy:new'], removed: ['policy:p1'] } },
  ])
  expect(await session.events('?limit=1000')).toEqual(before)

  const path = join(folder.path, 'changed.yaml')
  await writeFile(path, changed)
  const printed = await runCli(['rehearse', path, '--json'], { QM_URL: platform.url, QM_KEY: adminKey })
  expect(printed.code, printed.stderr).toBe(0)
  expect(JSON.parse(printed.stdout)).toMatchObject({ turns: 2, changed: [{ message: 'I want a refund' }] })
})
