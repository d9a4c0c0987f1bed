import { expect, test } from 'vitest'
import type { PreparedAction, ToolEntry } from '../catalogue/catalogue.ts'
import { mcp as type } from '../tools/mcp.ts'
import { definitionHash } from './fingerprint.ts'

const program = { command: 'mcp-files', args: ['--root', '/srv'], env: { API_TOKEN: 'one', REGION: 'eu' }, cwd: '/srv' }

const hashWith = (mcp: object, more: object = {}) => {
  const tool = { id: 'tool_1', name: 'files', type: 'mcp', config: { mcp }, ...more }
  const prepared = { action: { id: 'files:read', description: null, schema: {} }, presets: {} }
  return definitionHash({ tool, type } as unknown as ToolEntry, prepared as unknown as PreparedAction)
}

test.each([
  ['its arguments', { args: ['--root', '/'] }],
  ['its working folder', { cwd: '/tmp' }],
  ['its environment', { env: { ...program.env, REGION: 'us' } }],
  ['a new variable', { env: { ...program.env, LD_PRELOAD: '/tmp/x.so' } }],
  ['a new secret', { env: { ...program.env, OTHER_TOKEN: 'x' } }],
  ['an unknown field', { sandbox: false }],
])('the fingerprint of a stdio tool changes with %s', (_, change) => {
  expect(hashWith({ ...program, ...change })).not.toBe(hashWith(program))
})

test('a new field of a tool is part of its fingerprint', () => {
  expect(hashWith(program, { run_as: 'root' })).not.toBe(hashWith(program))
})

test('a new value of a secret in the environment does not change the fingerprint', () => {
  expect(hashWith({ ...program, env: { ...program.env, API_TOKEN: 'two' } })).toBe(hashWith(program))
})
