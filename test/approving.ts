import type { TestPlatform } from './kit.ts'

export const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

/** A tool whose calls a person decides on, one who calls and one who decides. */
export async function gated(platform: TestPlatform, url: string, fields: object = {}) {
  const tool = { name: 'pay', parameters: city, execute: { url }, auto_approve: false, ...fields }
  const made = await platform.post('/tools', tool)
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  return { id: made.body.id as string, ...(await people(platform)) }
}

export async function people(platform: TestPlatform) {
  return {
    caller: await platform.keyFor([{ effect: 'Allow', action: ['tools:CallTool', 'servers:UseServer'] }]),
    reviewer: await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }], { name: 'Rita' }),
  }
}

/** Looks until there is something. */
export async function until<T>(look: () => Promise<T | undefined> | T | undefined, ms = 5000): Promise<T> {
  const end = Date.now() + ms
  while (Date.now() < end) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('it never came')
}

/** The newest approval that is waited for, once there is one. */
export const pending = (platform: Pick<TestPlatform, 'get'>) =>
  until(async () => (await platform.get('/approvals?status=pending')).body.data[0])
