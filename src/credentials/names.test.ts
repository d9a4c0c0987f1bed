import { expect, test } from 'vitest'
import { isHarmlessName, isSecretField, isSecretName, secretFieldWithin, withoutCredentials } from './names.ts'

const rotates = (name: string) => withoutCredentials({ [name]: 'x' })?.[name] === null

/** Name, whether its value is secret when sent, may rotate, and is hidden as a field. */
test.each([
  ['Authorization', true, true, true],
  ['proxy_authorization', true, true, true],
  ['X-Authorization', true, false, false],
  ['Cookie', true, true, true],
  ['X-Cookie', true, false, false],
  ['API_KEY', true, true, true],
  ['X-Api-Key', true, true, true],
  ['X-ApiKey', true, true, true],
  ['OPENAI_API_KEY', true, true, false],
  ['accessToken', true, true, true],
  ['SLACK_TOKEN', true, true, false],
  ['tokens', true, false, false],
  ['max_tokens', true, false, false],
  ['DB_PASSWORD', true, true, false],
  ['passw0rd_hint', true, false, false],
  ['PGPASSWORD', true, false, false],
  ['MYSQL_PWD', true, true, false],
  ['sessionid', true, false, false],
  ['passphrase', true, false, true],
  ['sig', true, false, false],
  ['signal', false, false, false],
  ['key', true, false, false],
  ['monkey', true, false, false],
  ['credentials', true, false, true],
  ['X-Team', false, false, false],
  ['city', false, false, false],
] as const)('%s: sent %s, rotates %s, field %s', (name, sent, rotating, field) => {
  expect([isSecretName(name), rotates(name), isSecretField(name)]).toEqual([sent, rotating, field])
  if (field) expect(`{"${name}":1}`).toMatch(secretFieldWithin)
})

test('headers of the protocol are never secret', () => {
  expect(
    ['Accept', 'content-type', 'If-None-Match', 'User-Agent', 'Accepted-Key', 'X-Host'].map(isHarmlessName),
  ).toEqual([...[true, true, true, true], ...[false, false]])
})
