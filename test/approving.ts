import type { TestPlatform } from './kit.ts'

export const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

/** A tool that needs approval, with a caller and a reviewer. */
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

/** Polls until a value is found. */
export async function until<T>(look: () => Promise<T | undefined> | T | undefined, ms = 5000): Promise<T> {
  const end = Date.now() + ms
  while (Date.now() < end) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('it never came')
}

/** Waits for a pending approval and returns the newest. */
export const pending = (platform: Pick<TestPlatform, 'get'>) =>
  until(async () => (await platform.get('/approvals?status=pending')).body.data[0])
