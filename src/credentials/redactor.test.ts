import { expect, test } from 'vitest'
import { done } from '../model/tool.ts'
import { Redactor } from './redactor.ts'

const secret = 'p/ss "w0rd" é+1'
const redactor = new Redactor([secret])

test('a secret is redacted from plain text, nested JSON and URL encoding', () => {
  const inJson = JSON.stringify({ inner: JSON.stringify({ secret }) })
  for (const text of [secret, inJson, encodeURIComponent(secret), encodeURIComponent(secret).toLowerCase()]) {
    expect(redactor.text(`before ${text} after`)).toMatch(/before .*\[redacted\].* after/)
  }
})

test('a secret is redacted from base64 at any offset', () => {
  for (const before of ['', 'u', 'us', 'usr', 'user']) {
    for (const encoding of ['base64', 'base64url'] as const) {
      const text = Buffer.from(`${before}:${secret}:after`).toString(encoding)

      expect(redactor.text(text)).toContain('[redacted]')
    }
  }
})

test('a secret is redacted from JSON keys, strings and numbers, whatever escapes are used', () => {
  const spelt = '{"a":"\\u0070\\/ss \\"w0rd\\" \\u00e9+1"}'
  const output = redactor.output(done(JSON.parse(spelt), spelt))

  expect(output.text).toBe('{"a":"[redacted]"}')
  expect(new Redactor(['1234567890']).value({ '1234567890': [1234567890, 12345678901] })).toEqual({
    '[redacted]': ['[redacted]', 12345678901],
  })
})

test('a value without secrets is returned unchanged', () => {
  const output = done({ a: [{ b: 'c' }] })

  expect(redactor.output(output)).toBe(output)
  expect(redactor.value(output.value)).toBe(output.value)
})

test('values shorter than eight characters are not redacted', () => {
  expect(new Redactor(['1234567']).isEmpty).toBe(true)
})

test('a secret that is split over several chunks is redacted, and all other text is passed on', () => {
  const stream = new Redactor(['correct-horse']).stream()
  const parts = ['a cor', 'rect', '-horse b c', 'orrect-house', ' correct-'].map((part) => stream.push(part))

  expect(parts.join('') + stream.end()).toBe('a [redacted] b correct-house correct-')
  expect(parts[0]).toBe('a ')
})
