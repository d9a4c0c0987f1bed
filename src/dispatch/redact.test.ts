import { expect, test } from 'vitest'
import { Redactor } from '../credentials/redactor.ts'
import { redact } from './redact.ts'

const redacted = (value: unknown, known?: Redactor) => JSON.parse(redact(JSON.stringify(value), known))

test('a value under a secret-sounding key is redacted, at any depth and in any spelling of the key', () => {
  expect(redacted({ Password: 'a', 'api-key': 'b', deep: [{ accessToken: 'c', user: 'ana' }] })).toEqual({
    Password: '[redacted]',
    'api-key': '[redacted]',
    deep: [{ accessToken: '[redacted]', user: 'ana' }],
  })
})

test('values under keys that merely resemble secret names are kept', () => {
  const harmless = { token_count: 3, secretary: 'Ana', cookies_eaten: 4, password: null, secret: false }

  expect(redacted(harmless)).toEqual(harmless)
})

test('API keys of the platform and bearer tokens are redacted from any text', () => {
  expect(redacted({ note: 'use sk_0123456789abcdefghijABCDEFGHIJ0123456789 please' })).toEqual({
    note: 'use [redacted] please',
  })
  expect(redacted(['Authorization was Bearer abc.def-ghi'])).toEqual(['Authorization was Bearer [redacted]'])
})

test('a known secret value is redacted wherever it occurs', () => {
  const known = new Redactor(['hunter22'])

  expect(redacted({ echo: 'got hunter22', team: 'blue' }, known)).toEqual({ echo: 'got [redacted]', team: 'blue' })
})

test('text without secrets is returned without being parsed', () => {
  const text = '{"n":12345678901234567890}'

  expect(redact(text)).toBe(text)
})
