import { expect } from 'vitest'
import { type Received, type Service, startService, type TestPlatform } from './kit.ts'

export const parameters = (properties: object, required: string[] = []) => ({ type: 'object', properties, required })
export const text = { type: 'string' }

/** A CRM with contacts, for workflows to call. */
export async function startCrm(
  platform: TestPlatform,
  reply: (request: Received) => { status: number; body: string } | undefined = () => undefined,
) {
  const service = await startService((request) => {
    const special = reply(request)
    if (special) return special
    const { pathname, searchParams } = new URL(request.url, 'http://x')
    if (pathname === '/contacts')
      return { body: JSON.stringify({ email: searchParams.get('email'), name: 'Ana', tags: ['a', 'b', 'c'] }) }
    return { body: JSON.stringify({ done: pathname, got: request.body === '' ? null : JSON.parse(request.body) }) }
  })
  const tool = async (name: string, method: string, properties: object, more: object = {}) => {
    const path = name === 'find_contact' ? 'contacts' : name
    const made = await platform.post('/tools', {
      ...{ name, app: 'crm', parameters: parameters(properties, Object.keys(properties).slice(0, 1)) },
      execute: { url: `${service.url}/${path}`, method },
      ...more,
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
  }
  await tool('find_contact', 'GET', { email: text })
  await tool('create_note', 'POST', { text, tag: text })
  await tool('charge', 'POST', { amount: { type: 'number' } })
  await tool('refund', 'POST', { amount: { type: 'number' } })
  return service
}

export const register = async (platform: TestPlatform, name: string, workflow: object, more: object = {}) => {
  const made = await platform.post('/tools', { name, app: 'hubspot', type: 'workflow', workflow, ...more })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body
}

export const received = ({ received: all }: Service, path: string) => all.filter(({ url }) => url.startsWith(path))

/** Waits until a run has a status. */
export async function until(platform: TestPlatform, id: string, status: string) {
  await expect
    .poll(async () => (await platform.get(`/workflow-runs/${id}`)).body.status, { timeout: 20_000, interval: 20 })
    .toBe(status)
  return (await platform.get(`/workflow-runs/${id}`)).body
}
