import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { engines, type FreshDatabase, freshDatabase } from './engines.ts'
import { adminKey, type Service, startPlatform, startService, type TestPlatform } from './kit.ts'
import { temporaryFolder } from './process.ts'
import { person } from './signing-in.ts'

type Step = Record<string, unknown>

describe.each(engines)('generations on %s', (engine) => {
  let database: FreshDatabase
  let platform: TestPlatform
  let service: Service
  let count = 0
  /** What the service waits for before it responds, by request path. */
  const held = new Map<string, Promise<unknown>>()

  beforeAll(async () => {
    database = await freshDatabase(engine)
    platform = await startPlatform({ DATABASE_URL: database.options.databaseUrl ?? '' })
    service = await startService(async ({ url, headers }) => {
      await held.get(url)
      return { body: url === '/echo' ? JSON.stringify(headers) : '{"temperature":21}' }
    })
  })

  afterAll(async () => {
    await platform[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
    await database.remove()
  })

  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  const tool = async (fields: object = {}) => {
    const name = `tool_${engine}_${++count}`
    const made = await platform.post('/tools', { name, parameters, ...fields })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    return { id: made.body.id as string, name }
  }
  const http = (fields: object = {}, path = '/') => tool({ execute: { url: service.url + path }, ...fields })
  const client = () => tool({ type: 'client' })
  const lends = async (agent: string) => {
    const { id, name } = await tool({
      type: 'platform',
      parameters: undefined,
      actions: ['create-agent-generation'],
      preset_parameters: { id: agent },
    })
    return { id, name: `${name}_create-agent-generation` }
  }
  async function agentWith(steps: Step[], fields: object = {}): Promise<string> {
    const provider = await platform.post('/ai-providers', {
      name: `provider-${++count}`,
      type: 'replay',
      default_model: 'scripted',
      script: { steps },
    })
    expect(provider.status, JSON.stringify(provider.body)).toBe(201)
    const fresh = { name: `agent-${++count}`, ai_provider_id: provider.body.id, ...fields }
    const agent = await platform.post('/agents', fresh)
    expect(agent.status, JSON.stringify(agent.body)).toBe(201)
    return agent.body.id
  }
  const calls = (...some: [name: string, args?: object | string, id?: string][]) => ({
    answer: { tool_calls: some.map(([name, args = {}, id]) => ({ name, args, ...(id && { id }) })) },
  })
  const generate = (agent: string, body: object = { prompt: 'Hello' }, options = {}) =>
    platform.post(`/agents/${agent}/generate`, body, options)
  const submit = (agent: string, id: string, tool_outputs: object[], more: object = {}) =>
    platform.post(`/agents/${agent}/generate/${id}/tool-outputs`, { tool_outputs, ...more })
  const detail = async (id: string) => (await platform.get(`/generations/${id}`)).body
  const over = (id: string) =>
    expect.poll(async () => (await detail(id)).status, { timeout: 10_000 }).not.toMatch(/in_progress|requires_action/)
  /** Delays responses of the service at a path until the returned function is called. */
  const hold = (path: string) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held.set(path, promise)
    return resolve
  }
  const asked = (path: string) => () => service.received.filter(({ url }) => url === path).length

  describe('the output of a model', () => {
    test('is stripped of characters that databases cannot store, and the run continues', async () => {
      const own = await http()
      const agent = await agentWith(
        [
          {
            answer: {
              text: 'a\0b',
              reasoning: 'c\0d',
              tool_calls: [
                { name: own.name, args: '{"city":"\0"}', id: 'x\0y' },
                { name: 'no\0such', args: { city: 'a\0b \ud800' } },
              ],
            },
          },
          { answer: 'e\0f \ud800' },
        ],
        { tool_ids: [own.id] },
      )
      const { body } = await generate(agent)
      expect(body).toMatchObject({ status: 'completed', output: { content: expect.stringMatching(/^ef/) } })
      const [first] = (await detail(body.id)).step_list
      expect(first).toMatchObject({
        text: 'ab',
        reasoning: 'cd',
        calls: [{ tool_call_id: 'xy' }, { tool_name: 'nosuch' }],
      })
    })

    test('with arguments that are not an object or nested too deeply gets an error that the model sees and the run records', async () => {
      const own = await http()
      const deep = `{"city":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
      const agent = await agentWith(
        [calls([own.name, 'null'], [own.name, '[]'], [own.name, '7'], [own.name, deep]), { answer: 'Sorry' }],
        { tool_ids: [own.id] },
      )
      const { body } = await generate(agent)
      expect(body).toMatchObject({ status: 'completed' })
      const whole = await detail(body.id)
      expect(
        whole.step_list?.[0].calls.map(({ output }: { output: { error: { code: string } } }) => output.error.code),
      ).toEqual(Array(4).fill('VALIDATION_FAILED'))
    })

    test('can contain many calls with the same id, and all of them are made', async () => {
      const own = await http()
      const many = Array.from({ length: 200 }, (_, n): [string, object, string] => [own.name, { city: `${n}` }, 'same'])
      const agent = await agentWith([calls(...many), { answer: 'All' }], { tool_ids: [own.id] })
      const { body } = await generate(agent)
      expect(body).toMatchObject({ status: 'completed', output: { content: 'All' } })
      const ids = (await detail(body.id)).step_list[0].calls.map((one: { tool_call_id: string }) => one.tool_call_id)
      expect(new Set(ids).size).toBe(200)
    })

    test('can be empty', async () => {
      const agent = await agentWith([{ answer: {} }])
      expect((await generate(agent)).body).toMatchObject({ status: 'completed', output: { content: '' } })
    })
  })

  describe('tool outputs', () => {
    const paused = async (...ids: string[]) => {
      const own = await client()
      const agent = await agentWith(
        [calls(...ids.map((id): [string, object, string] => [own.name, {}, id])), { answer: 'Done' }],
        {
          tool_ids: [own.id],
        },
      )
      return { agent, id: (await generate(agent)).body.id as string }
    }

    test('for a cancelled run are refused', async () => {
      const { agent, id } = await paused('c1')
      await platform.post(`/generations/${id}/cancel`)
      const late = await submit(agent, id, [{ tool_call_id: 'c1', output: 1 }])
      expect(late).toMatchObject({ status: 404, body: { error: { code: 'GENERATION_NOT_FOUND' } } })
      expect(late.body.error.message).toContain('was cancelled')
    })

    test('with two values for one call are refused, and none is stored', async () => {
      const { agent, id } = await paused('c1', 'c2')
      const outputs = [
        { tool_call_id: 'c1', output: 1 },
        { tool_call_id: 'c1', output: 2 },
      ]
      expect((await submit(agent, id, outputs)).status).toBe(400)
      expect((await detail(id)).required_action.tool_calls).toHaveLength(2)
    })

    test('are equal regardless of the order of their fields', async () => {
      const { agent, id } = await paused('c1')
      expect((await submit(agent, id, [{ tool_call_id: 'c1', output: { a: 1, b: 2 } }])).status).toBe(200)
      expect((await submit(agent, id, [{ tool_call_id: 'c1', output: { b: 2, a: 1 } }])).status).toBe(200)
    })

    test('are stored unchanged, including NUL, lone surrogates and half a megabyte of text', async () => {
      const { agent, id } = await paused('c1')
      const output = { text: `\0 \ud800 ${'x'.repeat(500_000)}` }
      expect((await submit(agent, id, [{ tool_call_id: 'c1', output }])).body).toMatchObject({ status: 'completed' })
      expect((await detail(id)).step_list[0].calls[0].output).toEqual(output)
    })

    test('can be submitted while another call of the step runs, and the run continues once both have ended', async () => {
      const [own, slow] = [await client(), await http({}, `/slow-${engine}`)]
      const release = hold(`/slow-${engine}`)
      const agent = await agentWith([calls([own.name, {}, 'c1'], [slow.name, {}, 'c2']), { answer: 'Both' }], {
        tool_ids: [own.id, slow.id],
      })
      const { id } = (await generate(agent, { prompt: 'x', async: true })).body
      await expect
        .poll(async () => (await detail(id)).step_list[0]?.calls[0]?.status, { timeout: 5000 })
        .toBe('awaiting_client')
      const answer = submit(agent, id, [{ tool_call_id: 'c1', output: 1 }])
      await new Promise((resolve) => setTimeout(resolve, 100))
      release()
      expect((await answer).body).toMatchObject({ status: 'completed', output: { content: 'Both' } })
    })

    test('are assigned by generation_id if two runs have calls with the same id', async () => {
      const own = await client()
      const inner = await agentWith([calls([own.name, { city: 'in' }, 'c1']), { answer: 'in {{last_tool_output}}' }], {
        tool_ids: [own.id],
      })
      const lent = await lends(inner)
      const outer = await agentWith(
        [
          calls([own.name, { city: 'out' }, 'c1'], [lent.name, { prompt: 'x' }, 'c2']),
          { answer: '{{last_tool_output.output.content}}' },
        ],
        { tool_ids: [own.id, lent.id] },
      )
      const first = (await generate(outer)).body
      const waiting = async () => (await detail(first.id)).required_action?.tool_calls ?? []
      await expect.poll(async () => (await waiting()).length, { timeout: 5000 }).toBe(2)
      const vague = await submit(outer, first.id, [{ tool_call_id: 'c1', output: 'which?' }])
      expect(vague.status).toBe(400)
      expect(vague.body.error.message).toContain('generation_id')
      const { generation_id } = (await waiting()).find((one: { generation_id?: string }) => one.generation_id)
      const { body } = await submit(outer, first.id, [
        { tool_call_id: 'c1', generation_id, output: 'one' },
        { tool_call_id: 'c1', generation_id: first.id, output: 'two' },
      ])
      expect(body).toMatchObject({ status: 'completed', output: { content: 'in one' } })
    })

    test('do not reset tool_choice "none"', async () => {
      const own = await client()
      const agent = await agentWith([calls([own.name, {}, 'c1']), { answer: 'Done' }], {
        tool_ids: [own.id],
        tool_choice: 'none',
        step_rules: [{ step: 1, tool_choice: 'required' }],
      })
      const { id } = (await generate(agent)).body
      await submit(agent, id, [{ tool_call_id: 'c1', output: 1 }])
      const { settings } = (await platform.platform.store.generations.find(id)) as { settings: { defaults?: object } }
      expect(settings.defaults ?? {}).not.toMatchObject({ tool_choice: 'auto' })
    })

    test('submitted with stream: true return only the events that follow', async () => {
      const own = await client()
      const agent = await agentWith(
        [{ answer: { text: 'Before. ', tool_calls: [{ name: own.name, args: {}, id: 'c1' }] } }, { answer: 'After.' }],
        { tool_ids: [own.id] },
      )
      const { id } = (await generate(agent)).body
      const response = await platform.fetch(`/api/v1/agents/${agent}/generate/${id}/tool-outputs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          tool_outputs: [{ tool_call_id: 'c1', output: 1 }],
          stream: true,
          stream_format: 'events',
        }),
      })
      const said = await response.text()
      expect(said).not.toContain('Before')
      expect([...said.matchAll(/^event: (.*)$/gm)].map(([, name]) => name)).toEqual([
        'generation.started',
        'call.ended',
        'step.started',
        'text.delta',
        'step.answered',
        'generation.completed',
      ])
    })
  })

  describe('cancelling', () => {
    test('a run cancels the runs it started, at any depth', async () => {
      const own = await client()
      const deepest = await agentWith([calls([own.name])], { tool_ids: [own.id] })
      const toDeepest = await lends(deepest)
      const middle = await agentWith([calls([toDeepest.name, { prompt: 'x' }])], { tool_ids: [toDeepest.id] })
      const toMiddle = await lends(middle)
      const top = await agentWith([calls([toMiddle.name, { prompt: 'x' }])], { tool_ids: [toMiddle.id] })
      const { id, trace_id, status } = (await generate(top)).body
      expect(status).toBe('requires_action')
      await platform.post(`/generations/${id}/cancel`)
      await expect
        .poll(
          async () =>
            (await platform.get(`/generations?trace_id=${trace_id}`)).body.data.map(
              (one: { status: string }) => one.status,
            ),
          { timeout: 5000 },
        )
        .toEqual(['cancelled', 'cancelled', 'cancelled'])
    })

    test('at any moment leaves no child run in progress', async () => {
      const inner = await agentWith([{ answer: { text: 'late', delay_ms: 20_000 } }])
      const lent = await lends(inner)
      const outer = await agentWith([calls([lent.name, { prompt: 'x' }])], { tool_ids: [lent.id] })
      const traces = await Promise.all(
        Array.from({ length: 30 }, async (_, n) => {
          const { id, trace_id } = (await generate(outer, { prompt: 'x', async: true })).body
          await new Promise((resolve) => setTimeout(resolve, n * 4))
          await platform.post(`/generations/${id}/cancel`)
          return trace_id
        }),
      )
      const open = async () => {
        const lists = await Promise.all(traces.map((trace) => platform.get(`/generations?trace_id=${trace}`)))
        return lists.flatMap(({ body }) => body.data).filter(({ status }) => status !== 'cancelled').length
      }
      await expect.poll(open, { timeout: 5000 }).toBe(0)
    })

    test('at the moment of completion gives a final status that does not change', async () => {
      const agent = await agentWith([{ answer: 'quick' }])
      const ended = await Promise.all(
        Array.from({ length: 30 }, async (_, n) => {
          const { id } = (await generate(agent, { prompt: 'x', async: true })).body
          await new Promise((resolve) => setTimeout(resolve, n))
          const { status } = (await platform.post(`/generations/${id}/cancel`)).body
          return { id, status }
        }),
      )
      for (const { id, status } of ended) expect((await detail(id)).status).toBe(status)
    })

    test('a run that an agent started is reported to that agent', async () => {
      const own = await client()
      const inner = await agentWith([calls([own.name])], { tool_ids: [own.id] })
      const lent = await lends(inner)
      const outer = await agentWith(
        [calls([lent.name, { prompt: 'x' }]), { answer: 'It was {{last_tool_output.status}}' }],
        {
          tool_ids: [lent.id],
        },
      )
      const { id } = (await generate(outer)).body
      const { children } = (await platform.get(`/generations/${id}/trace`)).body
      await platform.post(`/generations/${children[0].id}/cancel`)
      await over(id)
      expect((await detail(id)).output.content).toBe('It was cancelled')
    })
  })

  describe('while a run is in progress', () => {
    test('revoking the key that started it fails the run before its next call', async () => {
      const path = `/revoked-${engine}`
      const own = await http({}, path)
      const agent = await agentWith([calls([own.name]), calls([own.name]), { answer: 'Done' }], { tool_ids: [own.id] })
      const policy = await platform.post('/access-policies', {
        name: 'x',
        document: { statement: [{ effect: 'Allow', action: ['*'] }] },
      })
      const key = (await platform.post('/api-keys', { name: 'short-lived', access_policy_ids: [policy.body.id] })).body
      const release = hold(path)
      const { id } = (await generate(agent, { prompt: 'x', async: true }, { key: key.key })).body
      await expect.poll(asked(path), { timeout: 5000 }).toBe(1)
      expect((await platform.delete(`/api-keys/${key.id}`)).status).toBe(204)
      release()
      await over(id)
      expect(await detail(id)).toMatchObject({ status: 'failed', error: { code: 'KEY_GONE' } })
      expect(asked(path)()).toBe(1)
    })

    test('disabling the person who started it fails the run before its next call', async () => {
      const path = `/disabled-${engine}`
      const own = await http({}, path)
      const agent = await agentWith([calls([own.name]), calls([own.name]), { answer: 'Done' }], { tool_ids: [own.id] })
      const rita = await person(platform, `rita-${engine}@example.com`, { name: 'Rita', role: 'editor' })
      const release = hold(path)
      const { id } = (await generate(agent, { prompt: 'x', async: true }, rita.session)).body
      await expect.poll(asked(path), { timeout: 5000 }).toBe(1)
      expect((await platform.patch(`/users/${rita.id}`, { status: 'disabled' })).status).toBe(200)
      release()
      await over(id)
      expect(await detail(id)).toMatchObject({
        status: 'failed',
        error: { code: 'KEY_GONE', message: expect.stringMatching(/^"Rita" started this run/) },
      })
    })

    test('deleting its agent and tool lets the run complete, with an error for the deleted tool', async () => {
      const path = `/deleted-${engine}`
      const own = await http({}, path)
      const agent = await agentWith([calls([own.name]), calls([own.name]), { answer: '{{last_tool_output}}' }], {
        tool_ids: [own.id],
      })
      const release = hold(path)
      const { id } = (await generate(agent, { prompt: 'x', async: true })).body
      await expect.poll(asked(path), { timeout: 5000 }).toBe(1)
      await platform.delete(`/agents/${agent}`)
      await platform.delete(`/tools/${own.id}?force=true`)
      release()
      await over(id)
      const whole = await detail(id)
      expect(whole).toMatchObject({ status: 'completed' })
      expect(whole.step_list[1].calls[0]).toMatchObject({
        status: 'failed',
        output: { error: { code: expect.stringContaining('NOT_FOUND') } },
      })
    })

    test('deleting the agent of a child run does not lose the result of that run', async () => {
      const own = await client()
      const inner = await agentWith([calls([own.name, {}, 'c1']), { answer: 'It was {{last_tool_output}}' }], {
        tool_ids: [own.id],
      })
      const lent = await lends(inner)
      const outer = await agentWith(
        [calls([lent.name, { prompt: 'x' }]), { answer: '{{last_tool_output.output.content}}' }],
        {
          tool_ids: [lent.id],
        },
      )
      const { id } = (await generate(outer)).body
      expect((await platform.delete(`/agents/${inner}`)).status).toBe(204)
      const { body } = await submit(outer, id, [{ tool_call_id: 'c1', output: 'sunny' }])
      expect(body).toMatchObject({ status: 'completed', output: { content: 'It was sunny' } })
    })
  })

  describe('agents with platform tools', () => {
    test('start one run per call, also through call-tool', async () => {
      const inner = await agentWith([{ answer: { text: 'In there', delay_ms: 50 } }])
      const lent = await lends(inner)
      const caller = await tool({ type: 'platform', parameters: undefined, actions: ['call-tool'] })
      const outer = await agentWith(
        [
          calls([
            `${caller.name}_call-tool`,
            { tool_id: lent.id, action: 'create-agent-generation', input: { prompt: 'x' } },
          ]),
          { answer: '{{last_tool_output.output.content}}' },
        ],
        { tool_ids: [caller.id] },
      )
      const { id, trace_id } = (await generate(outer, { prompt: 'x', async: true })).body
      await over(id).catch(() => platform.post(`/generations/${id}/cancel`))
      expect(await detail(id)).toMatchObject({ status: 'completed', output: { content: 'In there' } })
      expect((await platform.get(`/generations?trace_id=${trace_id}`)).body.total).toBe(2)
      const { data } = (await platform.get(`/calls?tool_id=${lent.id}`)).body
      expect(data.map(({ status }: { status: string }) => status)).toEqual(['success'])
    }, 40_000)

    test('cannot make a run wait for its own tool outputs', async () => {
      const own = await client()
      const generations = await tool({
        type: 'platform',
        parameters: undefined,
        actions: ['list-generations', 'submit-tool-outputs'],
      })
      const agent = await agentWith([{ answer: 'placeholder' }], { tool_ids: [own.id, generations.id] })
      const provider = (await platform.get(`/agents/${agent}`)).body.ai_provider_id
      const steps = [
        calls([`${generations.name}_list-generations`, { agent_id: agent }]),
        calls(
          [own.name, {}, 'c1'],
          [
            `${generations.name}_submit-tool-outputs`,
            {
              agent_id: agent,
              generation_id: '{{last_tool_output.data.0.id}}',
              tool_outputs: [{ tool_call_id: 'c1', output: 'self' }],
            },
            'c2',
          ],
        ),
        { answer: 'Over' },
      ]
      expect((await platform.patch(`/ai-providers/${provider}`, { script: { steps } })).status).toBe(200)
      const { id } = (await generate(agent, { prompt: 'x', async: true })).body
      await expect.poll(async () => (await detail(id)).step_list.length, { timeout: 5000 }).toBeGreaterThan(1)
      await expect.poll(async () => (await detail(id)).status, { timeout: 5000 }).not.toBe('in_progress')
      const whole = await detail(id)
      if (whole.status === 'requires_action') await submit(agent, id, [{ tool_call_id: 'c1', output: 'caller' }])
      await over(id)
      expect((await detail(id)).output.content).toBe('Over')
    })
  })

  describe('approvals', () => {
    test('a run that resumes after a decision is in progress again', async () => {
      const path = `/decided-${engine}`
      const gated = await http({ auto_approve: false }, path)
      const agent = await agentWith([calls([gated.name]), { answer: 'Done' }], { tool_ids: [gated.id] })
      const lent = await lends(agent)
      const outer = await agentWith([calls([lent.name, { prompt: 'x' }]), { answer: 'All done' }], {
        tool_ids: [lent.id],
      })
      const reviewer = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
      const release = hold(path)
      const { id, required_action } = (await generate(outer)).body
      const approved = await platform.post(
        `/approvals/${required_action.approvals[0].approval_id}/approve`,
        {},
        { key: reviewer },
      )
      expect(approved.status).toBe(200)
      expect((await detail(id)).status).toBe('in_progress')
      await expect.poll(asked(path), { timeout: 5000 }).toBe(1)
      expect((await detail(id)).status).toBe('in_progress')
      release()
      await over(id)
      expect((await detail(id)).output.content).toBe('All done')
    })

    test('can be decided while another call of the step runs', async () => {
      const path = `/meanwhile-${engine}`
      const [gated, slow] = [await http({ auto_approve: false }), await http({}, path)]
      const agent = await agentWith([calls([gated.name], [slow.name]), { answer: 'Done' }], {
        tool_ids: [gated.id, slow.id],
      })
      const reviewer = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
      const release = hold(path)
      const { id } = (await generate(agent, { prompt: 'x', async: true })).body
      const waiting = async () => (await detail(id)).step_list[0]?.calls[0]?.approval_id
      await expect.poll(waiting, { timeout: 5000 }).toMatch(/^apr_/)
      await platform.post(`/approvals/${await waiting()}/approve`, {}, { key: reviewer })
      release()
      await over(id)
      expect((await detail(id)).output.content).toBe('Done')
    })
  })

  test('credentials of a tool do not appear in the transcript, even if the tool returns them', async () => {
    const secret = 'Bearer s3cr3t-value-0123456789'
    const own = await tool({ execute: { url: `${service.url}/echo`, headers: { authorization: secret } } })
    const agent = await agentWith([calls([own.name]), { answer: '{{last_tool_output}}' }], { tool_ids: [own.id] })
    const { body } = await generate(agent)
    expect(JSON.stringify(body)).not.toContain('s3cr3t')
    expect(JSON.stringify(await detail(body.id))).not.toContain('s3cr3t')
  })

  test('a key that cannot read a run does not see it in the trace of another run', async () => {
    const inner = await agentWith([{ answer: 'hidden' }])
    const lent = await lends(inner)
    const outer = await agentWith([calls([lent.name, { prompt: 'x' }]), { answer: 'seen' }], { tool_ids: [lent.id] })
    const { id } = (await generate(outer)).body
    const { children } = (await platform.get(`/generations/${id}/trace`)).body
    const key = await platform.keyFor([
      { effect: 'Allow', action: ['agents:GetGeneration'], resource: [`qm:*:generation:${id}`] },
    ])
    const trace = await platform.get(`/generations/${id}/trace`, { key })
    expect(trace.status).toBe(200)
    expect(JSON.stringify(trace.body.children)).not.toContain(children[0].agent_id)
  })

  test('the messages that max_context_messages keeps include the current prompt', async () => {
    const own = await http()
    const agent = await agentWith(
      [
        { when: { step: 1, last_user: 'Recife' }, ...calls([own.name]) },
        { when: { last_user: 'Recife' }, answer: 'I know what you asked' },
      ],
      { tool_ids: [own.id], max_context_messages: 2 },
    )
    expect((await generate(agent, { prompt: 'Recife?' })).body.output?.content).toBe('I know what you asked')
  })

  test('a conversation can have a thousand messages, but no NUL characters or lone surrogates', async () => {
    const agent = await agentWith([{ when: {}, answer: 'Read' }])
    const messages = Array.from({ length: 1000 }, (_, n) => ({ role: 'user', content: `${n} ${'x'.repeat(800)}` }))
    expect((await generate(agent, { messages })).body).toMatchObject({ status: 'completed' })
    for (const prompt of ['a\0b', 'a\ud800b']) expect((await generate(agent, { prompt })).status).toBe(400)
    expect((await generate(agent, { messages: [...messages, messages[0]] })).status).toBe(400)
  })

  test('a stream with an Idempotency-Key arrives in pieces as the model sends them, and again when the request is repeated', async () => {
    const agent = await agentWith([{ answer: { text: ['one ', { text: 'two', delay_ms: 100 }] } }])
    const ask = () =>
      platform.fetch(`/api/v1/agents/${agent}/generate`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${adminKey}`,
          'content-type': 'application/json',
          'idempotency-key': `stream-${engine}`,
        },
        body: JSON.stringify({ prompt: 'x', stream: true }),
      })
    const chunks = await Array.fromAsync((await ask()).body?.pipeThrough(new TextDecoderStream()) ?? [])
    const early = chunks.findIndex((chunk) => chunk.includes('one'))
    const late = chunks.findIndex((chunk) => chunk.includes('two'))
    expect(early).toBeGreaterThanOrEqual(0)
    expect(late).toBeGreaterThan(early)
    expect(chunks.join('')).toContain('[DONE]')
    const again = await ask()
    expect(again.headers.get('content-type')).toContain('text/event-stream')
    expect(await again.text()).toContain('[DONE]')
    expect((await platform.get(`/generations?agent_id=${agent}`)).body.total).toBe(1)
  })
})

// Concurrent, because each test waits for a timeout.
describe.concurrent.each(engines)('a run that waits for outputs of client tools, on %s', (engine) => {
  test('fails after QM_OUTPUT_SECONDS, also after a restart, with an error in its record and webhook, and refuses late outputs', {
    timeout: 60_000,
  }, async ({ expect }) => {
    await using database = await freshDatabase(engine)
    await using folder = await temporaryFolder()
    await using ear = await startService()
    const environment = { QM_DATA: folder.path, DATABASE_URL: database.options.databaseUrl ?? '' }
    const calls = ['c1', 'c2'].map((id) => ({ name: 'ask', args: {}, id }))
    const script = { steps: [{ answer: { tool_calls: calls } }, { answer: 'Done' }] }
    const start = async (platform: TestPlatform, agent: string) =>
      (await platform.post(`/agents/${agent}/generate`, { prompt: 'Hello' })).body.id as string
    let agent = ''
    let id = ''
    {
      await using first = await startPlatform({ ...environment, QM_OUTPUT_SECONDS: '8' })
      const own = await first.post('/tools', { name: 'ask', type: 'client', parameters: { type: 'object' } })
      await first.post('/webhooks', { name: 'ear', url: ear.url, events: ['generation.failed'] })
      const provider = await first.post('/ai-providers', { name: 'p', type: 'replay', script })
      const fresh = { name: 'patient', ai_provider_id: provider.body.id, tool_ids: [own.body.id] }
      agent = (await first.post('/agents', fresh)).body.id
      id = await start(first, agent)
    }

    // A run keeps the timeout it started to wait with. The default is a day.
    await using platform = await startPlatform(environment)
    const path = `/agents/${agent}/generate/${id}/tool-outputs`
    const half = { tool_outputs: [{ tool_call_id: 'c1', output: 1 }], async: true }
    expect((await platform.post(path, half)).status).toBe(202)
    const another = await start(platform, agent)
    const [waiting] = (await platform.platform.store.journals.read(another)).calls
    const until = waiting?.awaits?.kind === 'client' ? (waiting.awaits.expiresAt ?? 0) : 0
    expect((until - Date.now()) / 3_600_000).toBeCloseTo(24, 0)

    const detail = async (of: string) => (await platform.get(`/generations/${of}`)).body
    await expect.poll(async () => (await detail(id)).status, { timeout: 20_000 }).toBe('failed')
    expect(await detail(id)).toMatchObject({
      stop_reason: 'error',
      error: { code: 'OUTPUTS_EXPIRED', details: { tool_call_id: 'c2', tool_name: 'ask' } },
    })
    const late = await platform.post(path, { tool_outputs: [{ tool_call_id: 'c2', output: 2 }] })
    expect(late).toMatchObject({ status: 404, body: { error: { code: 'GENERATION_NOT_FOUND' } } })
    expect(late.body.error.message).toContain('OUTPUTS_EXPIRED')
    const [{ calls: made }] = (await detail(id)).step_list
    const recorded = await Promise.all(
      made.map(async ({ call_id }: { call_id: string }) => (await platform.get(`/calls/${call_id}`)).body),
    )
    expect(recorded).toMatchObject([{ status: 'success' }, { error: { code: 'OUTPUTS_EXPIRED' } }])
    await expect.poll(() => ear.received.length, { timeout: 10_000 }).toBe(1)
    expect(JSON.parse(ear.received[0]?.body ?? '')).toMatchObject({
      type: 'generation.failed',
      data: { generation_id: id, error: { code: 'OUTPUTS_EXPIRED' } },
    })
    expect((await detail(another)).status).toBe('requires_action')
  })

  test('reports the timeout to the run that started it, which continues', { timeout: 30_000 }, async ({ expect }) => {
    await using database = await freshDatabase(engine)
    await using platform = await startPlatform({
      DATABASE_URL: database.options.databaseUrl ?? '',
      QM_OUTPUT_SECONDS: '1',
    })
    const agentOf = async (name: string, steps: Step[], tool: object) => {
      const made = await platform.post('/tools', tool)
      const provider = await platform.post('/ai-providers', { name, type: 'replay', script: { steps } })
      const agent = { name, ai_provider_id: provider.body.id, tool_ids: [made.body.id] }
      return (await platform.post('/agents', agent)).body.id as string
    }
    const inner = await agentOf('inner', [{ answer: { tool_calls: [{ name: 'ask', args: {} }] } }], {
      name: 'ask',
      type: 'client',
      parameters: { type: 'object' },
    })
    const steps = [
      { answer: { tool_calls: [{ name: 'lend_create-agent-generation', args: { prompt: 'Ask' } }] } },
      { when: { last_tool: { is_error: true, output: 'OUTPUTS_EXPIRED' } }, answer: 'Nobody answered' },
    ]
    const actions = ['create-agent-generation']
    const lend = { name: 'lend', type: 'platform', actions, preset_parameters: { id: inner } }
    const outer = await agentOf('outer', steps, lend)

    const { id } = (await platform.post(`/agents/${outer}/generate`, { prompt: 'Hello' })).body

    const detail = async () => (await platform.get(`/generations/${id}`)).body
    await expect.poll(async () => (await detail()).status, { timeout: 20_000 }).toBe('completed')
    expect((await detail()).output.content).toBe('Nobody answered')
  })
})
