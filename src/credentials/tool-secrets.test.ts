import { expect, test } from 'vitest'
import { maskedUrl, secretsIn, secretsOf } from './tool-secrets.ts'

test('a secret is known by its name, or by its looks where its name says nothing; plain words stay', () => {
  const known = secretsIn({
    'X-Shop': 'shpat_0a1b2c3d4e5f6a7b8c9d',
    'X-Shop-Auth': 'hunter22',
    'X-Team': 'customer-support-team',
    'X-Version': '2026-11-16',
    'Content-Type': 'application/vnd.api2+json',
    'X-Callback': 'https://example.com/hooks/1234567890',
  })

  expect(known).toEqual(['shpat_0a1b2c3d4e5f6a7b8c9d', 'hunter22'])
})

test('of basic authentication, what is encoded in it is a secret too', () => {
  const encoded = Buffer.from('ana:correct horse').toString('base64')

  expect(secretsIn({ Authorization: `Basic ${encoded}` })).toEqual([
    `Basic ${encoded}`,
    encoded,
    'ana:correct horse',
    'correct horse',
  ])
})

test('a reference to a secret of the project is not itself a secret', () => {
  expect(secretsIn({ Authorization: 'Bearer ${{ secrets.CRM }}' })).toEqual([])
})

test('the query and the password of an address hold secrets, and what a caller fills in is none', () => {
  const url = 'https://api.example.com/v1?key=correct-horse&units=metric&token={token}'

  expect(secretsOf({ execute: { url, method: 'GET' }, mcp: null })).toEqual(['correct-horse'])
  expect(secretsOf({ execute: null, mcp: { url: 'https://ana:battery-staple@mcp.example.com/' } })).toContain(
    'battery-staple',
  )
})

test('of a program’s arguments, the values of flags that sound like secrets are, and passwords of addresses', () => {
  const args = ['-y', 'server@1.2.3', '--api-key', 'correct-horse', '--token=battery-staple', '--region', 'eu-west-1']
  const database = ['postgres://app:pa55word@db/app']

  expect(secretsOf({ execute: null, mcp: { command: 'npx', args } })).toEqual(['correct-horse', 'battery-staple'])
  expect(secretsOf({ execute: null, mcp: { command: 'npx', args: database } })).toContain('pa55word')
})

test('a masked address keeps its path, the names in its query, and placeholders', () => {
  expect(maskedUrl('https://u:p@example.com/a/{b}?key=abc&city={city}&flag#top')).toBe(
    'https://[hidden]@example.com/a/{b}?key=[hidden]&city={city}&flag#top',
  )
  expect(maskedUrl('https://example.com/a')).toBe('https://example.com/a')
})
