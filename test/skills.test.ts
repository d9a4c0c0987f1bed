import { expect, test } from 'vitest'
import { startPlatform } from './kit.ts'

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

test('a folder with a SKILL.md becomes a skill, and comes out again as it went in', async () => {
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

test('files that are no skill are told, and do not keep the others out', async () => {
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

test('skills are created, changed, listed and deleted, each name once in a project', async () => {
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
