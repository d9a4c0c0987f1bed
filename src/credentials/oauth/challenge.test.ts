import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseChallenge, parseChallenges } from './challenge.ts'

test('a challenge tells where the metadata is, and which scopes are needed', () => {
  const header =
    'Bearer resource_metadata="https://h.example/.well-known/x", scope="read  write", error="invalid_token"'
  expect(parseChallenge(header)).toEqual({
    resourceMetadata: 'https://h.example/.well-known/x',
    scopes: ['read', 'write'],
    error: 'invalid_token',
  })
})

test('text in a description is not mistaken for a parameter', () => {
  const header =
    'Bearer error="insufficient_scope", error_description="use scope=admin, resource_metadata=https://evil.example", scope="read"'
  expect(parseChallenge(header)).toEqual({ scopes: ['read'], error: 'insufficient_scope' })
  const quotes = String.raw`Bearer error_description="he said \"scope=admin\", scope=\"root\"", error=invalid_token`
  expect(parseChallenge(quotes)).toEqual({ error: 'invalid_token' })
})

test.for([
  ['Basic realm="a, Bearer scope=admin", Bearer scope="read"', ['basic', 'bearer']],
  ['Negotiate YIIB+/9==, Bearer scope=read', ['negotiate', 'bearer']],
  ['DPoP algs="ES256", bearer scope="read"', ['dpop', 'bearer']],
  ['Negotiate, Bearer scope = "read"', ['negotiate', 'bearer']],
  [', ,Bearer realm="x" , scope=read', ['bearer']],
] as const)('the bearer challenge is found among others: %s', ([header, schemes]) => {
  expect(parseChallenges(header).map(({ scheme }) => scheme)).toEqual(schemes)
  expect(parseChallenge(header).scopes).toEqual(['read'])
})

test('of two bearer challenges, the one with metadata counts', () => {
  const header = 'Bearer scope="a", Bearer resource_metadata="https://h.example/m", scope="b"'
  expect(parseChallenge(header)).toEqual({ resourceMetadata: 'https://h.example/m', scopes: ['b'] })
})

test.for([
  null,
  undefined,
  '',
  'Basic realm="x", scope="read"',
  'Bearer',
  'Bearer scope="read',
  'Bearer "scope"=read',
  'Bearer scope="sc\u0001ope"',
  'Bearer scope="a\\\\b"',
  'Bearer resource_metadata="not a url"',
  `Bearer scope="${'x '.repeat(20_000)}"`,
  `Bearer ${'a="'.repeat(5000)}`,
])('nothing is read from a header without a valid challenge: %#', (header) => {
  expect(parseChallenge(header)).toEqual({})
})

test('whatever a value contains, it comes back as it was, and does not change the other values', () => {
  const value = fc.string({ unit: 'binary-ascii' }).filter((text) => !/[\r\n]/.test(text))
  const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`
  fc.assert(
    fc.property(value, value, (realm, description) => {
      const header = `Basic realm=${quote(realm)}, Bearer error_description=${quote(description)}, scope="read"`
      const [basic, bearer] = parseChallenges(header)
      expect(basic?.params.get('realm')).toBe(realm)
      expect(bearer?.params.get('error_description')).toBe(description)
      expect(parseChallenge(header)).toEqual({ scopes: ['read'] })
    }),
  )
})

test('no header makes the parser fail', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary-ascii', maxLength: 200 }), (header) => void parseChallenge(header)))
})
