import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills'
import { expect, test } from 'vitest'
import { startListening } from './clients.ts'
import { adminKey, startPlatform } from './kit.ts'

const refunds = `---
name: Refunds
description: How to pay back a customer
license: MIT
metadata:
  category: Support
  apps: stripe, hubspot
---

# Refunds

1. Find the order.
`

test('a folder with a SKILL.md is imported as a skill, and exported unchanged', async () => {
  await using platform = await startPlatform()

  const { body } = await platform.post('/skills/import', { files: { 'refunds/SKILL.md': refunds } })
  const out = await platform.get(`/skills/${body.created[0].id}/export`)
  const again = await platform.post('/skills/import', { files: { 'x/SKILL.md': out.body.content } })

  expect(body).toMatchObject({
    created: [
      {
        name: 'Refunds',
        summary: 'How to pay back a customer',
        category: 'Support',
        apps: ['stripe', 'hubspot'],
        content: '# Refunds\n\n1. Find the order.\n',
        enabled: true,
      },
    ],
    updated: [],
    skipped: [],
  })
  expect(out.body.path).toBe('refunds/SKILL.md')
  expect(again.body).toMatchObject({
    created: [],
    updated: [{ id: body.created[0].id, content: body.created[0].content }],
  })
})

test('files that are not a skill are reported, and the others are imported', async () => {
  await using platform = await startPlatform()

  const { status, body } = await platform.post('/skills/import', {
    files: {
      'a/SKILL.md': 'no front matter',
      'b/SKILL.md': '---\nname: [unclosed\n---\n',
      'c/SKILL.md': '---\ndescription: nameless\n---\ntext',
      'd/notes.txt': 'x',
      'e/SKILL.md': '---\r\nname: Windows\r\n---\r\ntext',
    },
  })

  expect(status).toBe(200)
  expect(body.created.map(({ name }: { name: string }) => name)).toEqual(['Windows'])
  expect(body.skipped.map(({ path }: { path: string }) => path)).toEqual([
    'a/SKILL.md',
    'b/SKILL.md',
    'c/SKILL.md',
    'd/notes.txt',
  ])
})

test('skills are created, changed, listed and deleted, and their names are unique in a project', async () => {
  await using platform = await startPlatform()
  const { id } = (await platform.post('/skills', { name: 'A', content: 'x' })).body

  expect((await platform.post('/skills', { name: 'A', content: 'y' })).status).toBe(409)
  expect((await platform.patch(`/skills/${id}`, { content: 'z', enabled: false })).body).toMatchObject({
    content: 'z',
    enabled: false,
    summary: '',
  })
  expect((await platform.get('/skills')).body.total).toBe(1)
  expect((await platform.delete(`/skills/${id}`)).status).toBe(204)
  expect((await platform.get(`/skills/${id}`)).status).toBe(404)
})

test.each(['legacy', 'auto'] as const)(
  'a client that supports skills over MCP finds and reads the skills of a server (%s)',
  async (mode) => {
    await using platform = await startListening()
    const skills = [
      { name: 'Pay back a customer', summary: 'How to pay back', content: '# Pay back\n' },
      { name: 'Pay back, a customer!', summary: '', content: '# The other way\n' },
      { name: 'Off', summary: 'Not for now', content: '# Off\n', enabled: false },
    ]
    for (const skill of skills) await platform.post('/skills', skill)
    await platform.post('/servers', { slug: 's', retrieve_skill: true })
    const client = new Client({ name: 'tester', version: '1' }, { versionNegotiation: { mode } })
    const headers = { authorization: `Bearer ${adminKey}` }
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp/s`), { requestInit: { headers } }),
    )

    const { skills: entries } = await new SkillsClient(client).list()
    const files = await Promise.all(entries.map((entry) => new SkillsClient(client).read(entry)))
    await client.close()

    expect(entries.map(({ uri }) => uri)).toEqual([
      'skill://pay-back-a-customer/SKILL.md',
      'skill://pay-back-a-customer-2/SKILL.md',
    ])
    expect(files.map((file) => JSON.stringify(file))).toEqual([
      expect.stringContaining('# Pay back'),
      expect.stringContaining('# The other way'),
    ])
    expect((await platform.get('/calls')).body.total).toBe(2)
  },
)

test('a server without skills does not announce them', async () => {
  await using platform = await startListening()
  await platform.post('/servers', { slug: 's', pass_resources: false })
  const client = new Client({ name: 'tester', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  const headers = { authorization: `Bearer ${adminKey}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${platform.url}/mcp/s`), { requestInit: { headers } }),
  )

  const capabilities = client.getServerCapabilities()
  await client.close()

  expect(capabilities).toMatchObject({ tools: {} })
  expect(capabilities?.extensions).toBeUndefined()
  expect(capabilities?.resources).toBeUndefined()
})
