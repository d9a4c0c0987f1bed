import { expect, test } from 'vitest'
import { createLog, readable } from './log.ts'

const time = new Date(2026, 10, 18, 14, 3, 7).getTime()
const line = (fields: object) => readable(JSON.stringify({ level: 40, time, pid: 1, hostname: 'h', ...fields }), false)

test('a line of the log reads as time, level, message and fields', () => {
  const tools = ['files', 'crm']

  expect(line({ msg: 'an MCP server is down', tools, attempts: 3 })).toBe(
    '14:03:07 WARN  an MCP server is down  tools=files,crm  attempts=3',
  )
})

test('an error is shown below with where it comes from', () => {
  const err = { type: 'Error', message: 'boom', stack: 'Error: boom\n    at here' }

  expect(line({ level: 50, msg: 'a fault of the platform', err })).toBe(
    '14:03:07 ERROR a fault of the platform\n    Error: boom\n        at here',
  )
})

test('what others said cannot move the cursor or forge a line', () => {
  expect(line({ msg: 'said \x1b[2J\n14:00:00', said: 'one\n14:00:00 INFO  forged' })).toBe(
    '14:03:07 WARN  said \\x1b[2J\\n14:00:00  said=one\\n14:00:00 INFO  forged',
  )
})

test('a terminal gets readable lines', () => {
  const written: string[] = []
  const terminal = { isTTY: true, write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream

  createLog('info', terminal).info({ tools: ['files'] }, 'an MCP server is up again')

  expect(written).toHaveLength(1)
  expect(written[0]).toMatch(/^\S*\d\d:\d\d:\d\d\S* \S*INFO .*an MCP server is up again.*tools=files/)
})
