import { createRequire, syncBuiltinESMExports } from 'node:module'
import { expect, test } from 'vitest'
import { hashPassword, isPassword } from './password.ts'

/** Counts how often passwords are hashed, and with which cost. */
function watchScrypt() {
  const crypto: typeof import('node:crypto') = createRequire(import.meta.url)('node:crypto')
  const { scrypt } = crypto
  const costs: unknown[] = []
  crypto.scrypt = ((password: string, salt: Buffer, length: number, options: object, done: () => void) => {
    costs.push(options)
    scrypt(password, salt, length, options, done)
  }) as never
  syncBuiltinESMExports()
  return {
    costs,
    [Symbol.dispose]() {
      crypto.scrypt = scrypt
      syncBuiltinESMExports()
    },
  }
}

test('an unknown account costs as much work as a wrong password', async () => {
  const hash = await hashPassword('correct horse')
  using watched = watchScrypt()

  const wrong = await isPassword('battery staple', hash)
  const unknown = await isPassword('battery staple', undefined)
  const without = await isPassword('battery staple', null)

  expect([wrong, unknown, without]).toEqual([false, false, false])
  expect(watched.costs).toHaveLength(3)
  expect(new Set(watched.costs.map((cost) => JSON.stringify(cost))).size).toBe(1)
})
