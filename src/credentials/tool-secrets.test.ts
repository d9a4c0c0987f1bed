import { expect, test } from 'vitest'
import { maskedUrl, secretsAt, secretsIn, secretsInUrl } from './tool-secrets.ts'

test('a header value is a secret if its name says so or if it looks random; ordinary words are not', () => {
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

test('the decoded user name and password of basic authentication are secrets', () => {
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

test('query values and the password of a URL are secrets, and placeholders are not', () => {
  const url = 'https://api.example.com/v1?key=correct-horse&units=metric&token={token}'

  expect(secretsInUrl(url)).toEqual(['correct-horse'])
  expect(secretsAt({ url: 'https://ana:battery-staple@mcp.example.com/' })).toContain('battery-staple')
})

test('in the arguments of a program, values of flags like --token and passwords in URLs are secrets', () => {
  const args = ['-y', 'server@1.2.3', '--api-key', 'correct-horse', '--token=battery-staple', '--region', 'eu-west-1']
  const database = ['postgres://app:pa55word@db/app']

  expect(secretsAt({ args })).toEqual(['correct-horse', 'battery-staple'])
  expect(secretsAt({ args: database })).toContain('pa55word')
})

test('a masked URL keeps its path, its query names and its placeholders', () => {
  expect(maskedUrl('https://u:p@example.com/a/{b}?key=abc&city={city}&flag#top')).toBe(
    'https://[hidden]@example.com/a/{b}?key=[hidden]&city={city}&flag#top',
  )
  expect(maskedUrl('https://example.com/a')).toBe('https://example.com/a')
})
