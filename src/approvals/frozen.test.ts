import { expect, test } from 'vitest'
import type { Entry, Offer } from '../catalogue/catalogue.ts'
import { definitionHash } from './frozen.ts'

const program = { command: 'mcp-files', args: ['--root', '/srv'], env: { API_TOKEN: 'one', REGION: 'eu' }, cwd: '/srv' }

const hashWith = (mcp: object, more: object = {}) => {
  const tool = { id: 'tool_1', name: 'files', type: 'mcp', mcp, execute: null, ...more }
  const offer = { action: { id: 'files:read', description: null, schema: {} }, presets: {} }
  return definitionHash({ tool } as unknown as Entry, offer as unknown as Offer)
}

test.each([
  ['its arguments', { args: ['--root', '/'] }],
  ['its working folder', { cwd: '/tmp' }],
  ['its environment', { env: { ...program.env, REGION: 'us' } }],
  ['a variable that is added', { env: { ...program.env, LD_PRELOAD: '/tmp/x.so' } }],
  ['a secret that is added', { env: { ...program.env, OTHER_TOKEN: 'x' } }],
  ['a field that nobody knew when this was written', { sandbox: false }],
])('the definition of a program changes with %s', (_, change) => {
  expect(hashWith({ ...program, ...change })).not.toBe(hashWith(program))
})

test('a new field of a tool is part of its definition', () => {
  expect(hashWith(program, { run_as: 'root' })).not.toBe(hashWith(program))
})

test('the value of a secret in the environment may change', () => {
  expect(hashWith({ ...program, env: { ...program.env, API_TOKEN: 'two' } })).toBe(hashWith(program))
})
