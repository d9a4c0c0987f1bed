import { expect, test } from 'vitest'
import { ApprovalStatus } from '../model/approval.ts'
import { CallStatus, surfaces } from '../model/call.ts'
import { commands } from './generated.ts'
import { customCommands, replacementOf, shownCommands } from './registry.ts'

const choices = (command: string, flag: string) =>
  customCommands.find(({ name }) => name === command)?.flags.find(({ name }) => name === flag)?.choices

test('the choices of --status and --surface are those of the model', () => {
  expect(choices('logs', 'status')).toEqual(CallStatus.options)
  expect(choices('logs', 'surface')).toEqual([...surfaces])
  expect(choices('approvals', 'status')).toEqual(ApprovalStatus.options)
})

test('every command has a unique name, and every replaced command is a generated one', () => {
  const names = [...customCommands, ...shownCommands].map(({ name }) => name)
  const replaced = customCommands.flatMap(({ replaces = [] }) => replaces)

  expect(new Set(names).size).toBe(names.length)
  expect(commands.map(({ name }) => name)).toEqual(expect.arrayContaining(replaced))
  expect(replaced.every((name) => replacementOf(name) !== undefined && !names.includes(name))).toBe(true)
})
