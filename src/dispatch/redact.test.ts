import { expect, test } from 'vitest'
import { Redactor } from '../credentials/redactor.ts'
import { redact } from './redact.ts'

const redacted = (value: unknown, known?: Redactor) => JSON.parse(redact(JSON.stringify(value), known))

test('what stands under a secret’s name is taken out, however the name is written and however deep', () => {
  expect(redacted({ Password: 'a', 'api-key': 'b', deep: [{ accessToken: 'c', user: 'ana' }] })).toEqual({
    Password: '[redacted]',
    'api-key': '[redacted]',
    deep: [{ accessToken: '[redacted]', user: 'ana' }],
  })
})

test('what only sounds like a secret stays', () => {
  const harmless = { token_count: 3, secretary: 'Ana', cookies_eaten: 4, password: null, secret: false }

  expect(redacted(harmless)).toEqual(harmless)
})

test('our own keys and bearer tokens are taken out of any text', () => {
  expect(redacted({ note: 'use sk_0123456789abcdefghijABCDEFGHIJ0123456789 please' })).toEqual({
    note: 'use [redacted] please',
  })
  expect(redacted(['Authorization was Bearer abc.def-ghi'])).toEqual(['Authorization was Bearer [redacted]'])
})

test('a value known to be secret is taken out wherever it stands', () => {
  const known = new Redactor(['hunter22'])

  expect(redacted({ echo: 'got hunter22', team: 'blue' }, known)).toEqual({ echo: 'got [redacted]', team: 'blue' })
})

test('text without secrets is passed on as it is, without being read', () => {
  const text = '{"n":12345678901234567890}'

  expect(redact(text)).toBe(text)
})
