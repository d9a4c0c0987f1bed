import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { generated } from '../scripts/print/index.ts'
import { commands } from '../src/cli/generated.ts'
import { operations, permissions } from '../src/operations/index.ts'
import { routes } from '../src/sdk/operations.ts'

test.each([...generated])('%s is up to date with the source', async (path, print) => {
  const written = await readFile(new URL(`../${path}`, import.meta.url), 'utf8').catch(() => '')

  expect(written === print(), `${path} is out of date: run npm run generate`).toBe(true)
})

test('every operation is an SDK method and a CLI command, and there are no others', () => {
  const asked = operations.map(({ route }) => route).sort()

  expect(
    Object.values(routes)
      .flatMap((methods) => Object.values<string>(methods))
      .sort(),
  ).toEqual(asked)
  expect(commands.map(({ route }) => route).sort()).toEqual(asked)
})

test('the permissions reference lists every action that an access policy can name (S2.60)', async () => {
  const page = await readFile(new URL('../docs/reference/permissions.md', import.meta.url), 'utf8')

  for (const permission of permissions) expect(page).toContain(`\`${permission}\``)
})
