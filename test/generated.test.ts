import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { generated } from '../scripts/print/index.ts'
import { commands } from '../src/cli/generated.ts'
import { operations, permissions } from '../src/operations/index.ts'
import { routes } from '../src/sdk/operations.ts'

test.each([...generated])('%s says what the source says today', async (path, print) => {
  const written = await readFile(new URL(`../${path}`, import.meta.url), 'utf8').catch(() => '')

  expect(written === print(), `${path} is out of date: run npm run generate`).toBe(true)
})

test('every operation is a method of the SDK and a command, and there are no others', () => {
  const asked = operations.map(({ route }) => route).sort()

  expect(
    Object.values(routes)
      .flatMap((methods) => Object.values<string>(methods))
      .sort(),
  ).toEqual(asked)
  expect(commands.map(({ route }) => route).sort()).toEqual(asked)
})

test('a command has one flag for each field, so that none of them is out of reach', () => {
  for (const { name, fields } of commands) {
    const names = fields.map((field) => field.name)

    expect(new Set(names).size, name).toBe(names.length)
  }
})

test('the permissions reference lists every action that an access policy can name (S2.60)', async () => {
  const page = await readFile(new URL('../docs/reference/permissions.md', import.meta.url), 'utf8')

  for (const permission of permissions) expect(page).toContain(`\`${permission}\``)
})
