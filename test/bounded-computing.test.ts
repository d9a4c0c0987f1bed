/** Whatever a user sends, one request does not keep the others waiting. bench/blocking.ts measures how long it can. */
import { expect, test } from 'vitest'
import { startPlatform, startService } from './kit.ts'

const many = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))

/** Letters a and b in an order that an automaton cannot keep in few states. */
const letters = (length: number) => {
  let state = 1
  return many(length, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state & 65_536 ? 'a' : 'b'
  }).join('')
}

test('an approval rule that computes too much asks for approval and says why', async () => {
  await using service = await startService()
  await using platform = await startPlatform()
  const tool = { name: 'a', parameters: { type: 'object' }, execute: { url: service.url } }
  const { id } = (await platform.post('/tools', tool)).body
  const expression = 'input.l.exists(i, input.s.matches("[ab]*a[ab]{60}[cd]"))'
  const input = { l: many(50, (i) => i), s: letters(50_000) }
  await platform.post('/approval-rules', { name: 'expensive', expression })

  const tested = await platform.post('/approval-rules/test', { expression, tool_id: id, input })
  const called = await platform.post(`/tools/${id}/call`, { input, wait: false })
  const approval = await platform.get(`/approvals/${called.body.approval_id}`)

  expect(tested.body).toEqual({ asks: true, fault: expect.stringContaining('more computing than a rule may use') })
  expect(called.status).toBe(202)
  expect(approval.body.why[0]).toMatchObject({ name: 'expensive', reason: expect.stringContaining('test action.id') })
  expect(service.received).toEqual([])
})
