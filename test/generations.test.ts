import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startReplayServer } from '../src/agents/models/replay-server.ts'
import type { StepView } from '../src/model/generation.ts'
import { engines, type FreshDatabase, freshDatabase } from './engines.ts'
import { type Service, startPlatform, startService, type TestPlatform } from './kit.ts'
import { startUpstream, type TestUpstream } from './upstream.ts'

type Step = Record<string, unknown>

describe.each(engines)('generations on %s', (engine) => {
  let database: FreshDatabase
  let platform: TestPlatform
  let service: Service
  let upstream: TestUpstream
  let count = 0

  beforeAll(async () => {
    database = await freshDatabase(engine)
    platform = await startPlatform({ DATABASE_URL: database.options.databaseUrl ?? '' })
    service = await startService(({ url }) =>
      url.includes('/broken') ? { status: 500, body: '{"why":"tired"}' } : { body: '{"temperature":21}' },
    )
    upstream = await startUpstream()
  })

  afterAll(async () => {
    await platform[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
    await database.remove()
  })

  const tool = async (fields: object) => {
    const made = await platform.post('/tools', { name: `tool-${++count}`, ...fields })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    return made.body.id as string
  }
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const weather = (fields: object = {}) =>
    tool({ description: 'The weather', execute: { url: service.url }, parameters, ...fields })
  const client = (fields: object = {}) => tool({ type: 'client', parameters, ...fields })

  /** An agent whose model plays a script. */
  async function agentWith(steps: Step[], fields: object = {}): Promise<string> {
    const provider = await platform.post('/ai-providers', {
      name: `provider-${++count}`,
      type: 'replay',
      default_model: 'scripted',
      script: { steps },
    })
    expect(provider.status, JSON.stringify(provider.body)).toBe(201)
    const agent = await platform.post('/agents', {
      name: `agent-${++count}`,
      ai_provider_id: provider.body.id,
      ...fields,
    })
    expect(agent.status, JSON.stringify(agent.body)).toBe(201)
    return agent.body.id
  }
  const calls = (...some: [name: string, args: object | string, id?: string][]) => ({
    answer: { tool_calls: some.map(([name, args, id]) => ({ name, args, ...(id && { id }) })) },
  })
  const says = (text: string) => ({ answer: text })
  const generate = (agent: string, body: object = { prompt: 'Hello' }) =>
    platform.post(`/agents/${agent}/generate`, body)
  const detail = async (id: string) => (await platform.get(`/generations/${id}`)).body

  test('an agent answers a prompt (S2.34)', async () => {
    const agent = await agentWith([says('Hello to you')], { instructions: 'Be kind.' })
    const { status, body } = await generate(agent)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'completed',
      stop_reason: 'end_turn',
      output: { model: 'scripted', content: 'Hello to you', finish_reason: 'stop' },
    })
    expect(body.id).toMatch(/^agt_gen_/)
    expect(body.generation_id).toBe(body.id)
    expect(body.usage.output_tokens).toBeGreaterThan(0)
  })

  test('a generation is created at /agents/{agent_id}/generate (S2.34)', async () => {
    const agent = await agentWith([says('Hello to you')])
    const response = await platform.fetch(`/agents/${agent}/generate`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk_admin_of_the_tests', 'content-type': 'application/json' },
      body: '{"prompt":"Hi"}',
    })
    expect(await response.json()).toMatchObject({ status: 'completed' })
  })

  test('http tools run on the server during the loop, and the model gets their output (S2.35)', async () => {
    const id = await weather({ name: `weather-${engine}` })
    const agent = await agentWith(
      [
        { ...calls([`weather-${engine}`, { city: 'Recife' }]) },
        { when: { last_tool: { output: '21' } }, answer: 'It is {{last_tool_output.temperature}} degrees' },
      ],
      { tool_ids: [id] },
    )
    const before = service.received.length
    const { body } = await generate(agent)
    expect(body).toMatchObject({ status: 'completed', output: { content: 'It is 21 degrees' } })
    expect(service.received.slice(before).map((one) => one.body)).toEqual(['{"city":"Recife"}'])
    const { data } = (await platform.get(`/calls?tool_id=${id}`)).body
    expect(data).toMatchObject([{ surface: 'agent', status: 'success', generation_id: body.id, agent_id: agent }])
  })

  test('a client tool pauses the run and returns its calls to the caller, and tool outputs resume it, any number of times (S2.33, S2.36, S2.37, S2.38, S2.39, S2.40)', async () => {
    const name = `read_local_file_${engine}`
    const id = await tool({
      name,
      type: 'client',
      parameters: { type: 'object', properties: { path: { type: 'string' } } },
    })
    const agent = await agentWith(
      [
        calls([name, { path: '/tmp/data.csv' }, 'call_xyz']),
        calls([name, { path: '/tmp/more.csv' }, 'call_abc']),
        { answer: 'Last I saw {{last_tool_output}}' },
      ],
      { tool_ids: [id] },
    )
    const first = (await generate(agent)).body
    expect(first).toMatchObject({
      status: 'requires_action',
      required_action: {
        type: 'submit_tool_outputs',
        tool_calls: [{ tool_call_id: 'call_xyz', tool_name: name, args: { path: '/tmp/data.csv' } }],
      },
    })
    const path = `/agents/${agent}/generate/${first.generation_id}/tool-outputs`
    const second = await platform.post(path, {
      tool_outputs: [{ tool_call_id: 'call_xyz', output: 'col1,col2\n1,2\n3,4' }],
    })
    expect(second.body.required_action.tool_calls).toMatchObject([{ tool_call_id: 'call_abc' }])
    const third = await platform.post(path, { tool_outputs: [{ id: 'call_abc', output: 'more' }] })
    expect(third.body).toMatchObject({ status: 'completed', output: { content: 'Last I saw more' } })
    const { data } = (await platform.get(`/calls?tool_id=${id}`)).body
    expect(data.map(({ status }: { status: string }) => status)).toEqual(['success', 'success'])
  })

  test('one step can mix server tools and client tools, and each runs in its own place', async () => {
    const [own, theirs] = [`mine_${engine}`, `theirs_${engine}`]
    const ids = [await client({ name: own }), await weather({ name: theirs })]
    const agent = await agentWith(
      [calls([own, { city: 'a' }, 'c1'], [theirs, { city: 'b' }, 'c2'], [own, { city: 'c' }, 'c3']), says('done')],
      { tool_ids: ids },
    )
    const before = service.received.length
    const paused = (await generate(agent)).body
    expect(service.received).toHaveLength(before + 1)
    expect(paused.required_action.tool_calls.map((one: { tool_call_id: string }) => one.tool_call_id)).toEqual([
      'c1',
      'c3',
    ])
    const path = `/agents/${agent}/generate/${paused.id}/tool-outputs`
    const some = await platform.post(path, { tool_outputs: [{ tool_call_id: 'c3', output: 3 }] })
    expect(some.body).toMatchObject({
      status: 'requires_action',
      required_action: { tool_calls: [{ tool_call_id: 'c1' }] },
    })
    const all = await platform.post(path, { tool_outputs: [{ tool_call_id: 'c1', output: 1 }] })
    expect(all.body).toMatchObject({ status: 'completed', output: { content: 'done' } })
    const [step] = (await detail(paused.id)).step_list as StepView[]
    expect(step?.calls.map(({ output }) => output)).toEqual([1, { temperature: 21 }, 3])
  })

  test('submitting the same tool output again changes nothing, and a different one for the same call is refused', async () => {
    const name = `twice_${engine}`
    const agent = await agentWith([calls([name, { city: 'x' }, 'c1']), says('over')], {
      tool_ids: [await client({ name })],
    })
    const { id } = (await generate(agent)).body
    const path = `/agents/${agent}/generate/${id}/tool-outputs`
    const outputs = { tool_outputs: [{ tool_call_id: 'c1', output: { a: 1 } }] }
    const [one, two] = await Promise.all([platform.post(path, outputs), platform.post(path, outputs)])
    expect([one.body.status, two.body.status]).toEqual(['completed', 'completed'])
    expect((await platform.post(path, outputs)).body).toMatchObject({ status: 'completed' })
    const other = await platform.post(path, { tool_outputs: [{ tool_call_id: 'c1', output: 'no' }] })
    expect([other.status, other.body.error.code]).toEqual([409, 'OUTPUT_GIVEN'])
  })

  test('tool outputs for a call that is not waiting are refused, and the error names the calls that are', async () => {
    const name = `pending_${engine}`
    const agent = await agentWith([calls([name, { city: 'x' }, 'c1']), says('over')], {
      tool_ids: [await client({ name })],
    })
    const other = await agentWith([says('hi')])
    const { id } = (await generate(agent)).body
    const outputs = { tool_outputs: [{ tool_call_id: 'c9', output: 1 }] }
    const wrong = await platform.post(`/agents/${agent}/generate/${id}/tool-outputs`, outputs)
    expect(wrong.status).toBe(400)
    expect(wrong.body.error.message).toContain('"c1"')
    const foreign = await platform.post(`/agents/${other}/generate/${id}/tool-outputs`, outputs)
    expect([foreign.status, foreign.body.error.code]).toEqual([404, 'GENERATION_NOT_FOUND'])
    const missing = await platform.post(`/agents/${agent}/generate/agt_gen_none/tool-outputs`, outputs)
    expect([missing.status, missing.body.error.code]).toEqual([404, 'GENERATION_NOT_FOUND'])
    const empty = await platform.post(`/agents/${agent}/generate/${id}/tool-outputs`, { tool_outputs: [{ output: 1 }] })
    expect(empty.status).toBe(400)
    const over = (await generate(other)).body
    const late = await platform.post(`/agents/${other}/generate/${over.id}/tool-outputs`, outputs)
    expect([late.status, late.body.error.code]).toEqual([404, 'GENERATION_NOT_FOUND'])
    expect(late.body.error.message).toContain('is not waiting for tool outputs: it has completed')
  })

  test('an MCP server is asked for its tools when a generation starts, and calls are forwarded to it (S2.41, S2.42, S2.43)', async () => {
    const id = await tool({ name: `up_${engine}`, type: 'mcp', mcp: { url: upstream.url } })
    const offered = (await platform.get(`/tools/${id}/actions`)).body.data
    const name = offered.find((one: { name: string }) => one.name === 'echo').tool_name
    expect(name).toBe(`up_${engine}_echo`)
    const agent = await agentWith(
      [
        { when: { step: 1, tools: [name] }, ...calls([name, { text: 'over there' }]) },
        { answer: 'It said {{last_tool_output}}' },
      ],
      { tool_ids: [id] },
    )
    expect((await generate(agent)).body.output.content).toContain('over there')
  })

  test('an unreachable MCP server removes only its own tools from a run', async () => {
    const away = await tool({ name: `away_${engine}`, type: 'mcp', mcp: { url: 'http://127.0.0.1:9/mcp' } })
    const agent = await agentWith([says('I manage')], { tool_ids: [away] })
    expect((await generate(agent)).body).toMatchObject({ status: 'completed', output: { content: 'I manage' } })
  })

  test('the model sees the error of a failed tool and can recover from it (S4.10, S4.11)', async () => {
    const name = `broken_${engine}`
    const agent = await agentWith(
      [
        calls([name, { city: 'x' }]),
        { when: { last_tool: { is_error: true, output: 'TOOL_HTTP_ERROR' } }, answer: 'It is out of order' },
      ],
      { tool_ids: [await weather({ name, execute: { url: `${service.url}/broken` } })] },
    )
    expect((await generate(agent)).body.output.content).toBe('It is out of order')
  })

  test('a model that calls an unknown tool or sends invalid arguments gets an error and can correct the call', async () => {
    const name = `repaired_${engine}`
    const agent = await agentWith(
      [
        calls(['nothing_like_it', {}]),
        { when: { last_tool: { is_error: true, output: 'There is no tool' } }, ...calls([name, '{"city": ']) },
        { when: { last_tool: { is_error: true, output: 'not valid JSON' } }, ...calls([name, { town: 1 }]) },
        { when: { last_tool: { is_error: true, output: 'city' } }, ...calls([name, { city: 'Recife' }]) },
        { when: { last_tool: { is_error: false } }, answer: 'At last' },
      ],
      { tool_ids: [await weather({ name })] },
    )
    const { body } = await generate(agent)
    expect(body).toMatchObject({ status: 'completed', output: { content: 'At last' } })
    expect((await detail(body.id)).steps).toBe(5)
  })

  test('a run ends after max_steps, even if the model keeps calling tools', async () => {
    const name = `forever_${engine}`
    const agent = await agentWith([{ when: {}, ...calls([name, { city: 'x' }]) }], {
      tool_ids: [await weather({ name })],
      max_steps: 4,
    })
    const { body } = await generate(agent)
    expect(body).toMatchObject({ status: 'completed', stop_reason: 'max_steps' })
    expect((await detail(body.id)).step_list).toHaveLength(4)
    expect((await generate(agent, { prompt: 'x', max_steps: 2 })).body.stop_reason).toBe('max_steps')
  })

  test('stop conditions and tool_choice refer to tools by name, active_tool_ids and step_rules by id (S2.19, S2.20)', async () => {
    const [one, two] = [`one_${engine}`, `two_${engine}`]
    const ids = [await weather({ name: one }), await weather({ name: two })]
    const agent = await agentWith(
      [
        { when: { step: 1, tools: [one] }, ...calls([one, { city: 'x' }]) },
        { when: { step: 2, tools: [two] }, ...calls([two, { city: 'y' }]) },
        says('not reached'),
      ],
      {
        tool_ids: ids,
        active_tool_ids: [ids[0]],
        step_rules: [{ step: 2, active_tool_ids: [ids[1]], tool_choice: { type: 'tool', tool_name: two } }],
        stop_conditions: [{ type: 'hasToolCall', tool_name: two }],
      },
    )
    const { body } = await generate(agent)
    expect(body).toMatchObject({ status: 'completed', stop_reason: 'stop_condition' })
    expect((await detail(body.id)).steps).toBe(2)
  })

  test('a tool that is not active in a step is not called, the model gets an error, and the attempt is recorded (S2.19)', async () => {
    const [one, two, local] = [`first_${engine}`, `second_${engine}`, `local_${engine}`]
    const ids = [await weather({ name: one }), await weather({ name: two }), await client({ name: local })]
    const agent = await agentWith(
      [
        { when: { step: 1 }, ...calls([two, { city: 'x' }], [local, { city: 'y' }]) },
        { when: { step: 2 }, ...calls([one, { city: 'x' }]) },
        { when: { step: 3 }, ...calls([one, { city: 'z' }], ['nope', { password: 'hush' }], [one, 'not JSON']) },
        { when: { step: 4 }, answer: 'Done' },
      ],
      { tool_ids: ids, active_tool_ids: [ids[0]], step_rules: [{ step: 2, active_tool_ids: [ids[1]] }] },
    )
    const before = service.received.length

    const { body } = await generate(agent)

    expect(body).toMatchObject({ status: 'completed', output: { content: 'Done' } })
    expect(service.received.slice(before).map((sent) => sent.body)).toEqual(['{"city":"z"}'])
    const made = ((await detail(body.id)).step_list as StepView[]).flatMap((step) => step.calls)
    expect(made.map(({ status }) => status)).toEqual(['failed', 'failed', 'failed', 'done', 'failed', 'failed'])
    expect(made[0]?.output).toMatchObject({
      error: {
        code: 'TOOL_NOT_ACTIVE',
        message: `The tool "${two}" is not active in this step. Active tools: "${one}".`,
      },
    })
    const records = await Promise.all(made.map(async (call) => (await platform.get(`/calls/${call.call_id}`)).body))
    const refused = { status: 'validation_error', surface: 'agent', generation_id: body.id, agent_id: agent }
    expect(records).toMatchObject([
      { ...refused, tool: two, request: { city: 'x' }, error: { code: 'TOOL_NOT_ACTIVE' } },
      { ...refused, tool: local, error: { code: 'TOOL_NOT_ACTIVE' } },
      { ...refused, tool: one, error: { code: 'TOOL_NOT_ACTIVE', details: { active: [two] } } },
      { status: 'success', tool: one },
      {
        ...{ ...refused, tool_id: null, tool: null, action: 'quartermaster:UNKNOWN_TOOL' },
        ...{ request: { password: '[redacted]' }, error: { code: 'UNKNOWN_TOOL' } },
      },
      { ...refused, tool: one, request: 'not JSON', error: { code: 'VALIDATION_FAILED' } },
    ])
  })

  test('tools with the same name in two apps are prefixed with their app, in any order (S0.9)', async () => {
    const name = `create_contact_${engine}`
    const ids = [
      await weather({ name, app: 'salesforce' }),
      await weather({ name, app: 'hubspot', execute: { url: `${service.url}/hubspot` } }),
    ]
    const script = [
      {
        when: { step: 1, tools: [`hubspot_${name}`, `salesforce_${name}`] },
        ...calls([`hubspot_${name}`, { city: 'x' }]),
      },
      says('Done'),
    ]
    const before = service.received.length

    for (const tool_ids of [ids, [...ids].reverse()]) {
      const agent = await agentWith(script, { tool_ids, stop_conditions: [] })
      expect((await generate(agent)).body).toMatchObject({ status: 'completed', output: { content: 'Done' } })
    }

    expect(service.received.slice(before).map(({ url }) => url)).toEqual(['/hubspot', '/hubspot'])
  })

  test('an invalid agent is refused with the path of every error', async () => {
    const name = `known_${engine}`
    const id = await weather({ name })
    const elsewhere = (await platform.post('/projects', { name: `elsewhere-${engine}` })).body.id
    const foreign = await tool({ project_id: elsewhere, execute: { url: service.url }, parameters })
    const provider = await platform.post('/ai-providers', {
      project_id: platform.projectId,
      name: `sound-${engine}`,
      type: 'replay',
      script: { steps: [says('hi')] },
    })
    const refused = await platform.post('/agents', {
      project_id: platform.projectId,
      name: `wrong-${engine}`,
      ai_provider_id: provider.body.id,
      tool_ids: [id, foreign, 'tool_none'],
      tool_choice: { type: 'tool', tool_name: `knwon_${engine}` },
      stop_conditions: [{ type: 'hasToolCall', tool_name: 'other' }],
      active_tool_ids: ['tool_other'],
      step_rules: [{ step: 21 }, { step: 1, active_tool_ids: [foreign] }],
    })
    expect(refused.status).toBe(400)
    const errors = refused.body.error.details.errors as { path: string; message: string }[]
    expect(errors.map(({ path }) => path).sort()).toEqual([
      'active_tool_ids[0]',
      'step_rules[0].step',
      'stop_conditions[0].tool_name',
      'tool_choice.tool_name',
      'tool_ids[1]',
      'tool_ids[2]',
    ])
    expect(errors.find(({ path }) => path === 'tool_choice.tool_name')?.message).toContain(name)
    const zero = await platform.post('/agents', {
      project_id: platform.projectId,
      name: 'zero',
      ai_provider_id: provider.body.id,
      step_rules: [{ step: 0 }],
      max_steps: 0,
    })
    expect(zero.status).toBe(400)
    await platform.delete(`/tools/${foreign}?force=true`)
    await platform.delete(`/projects/${elsewhere}`)
  })

  test('a generation requires a prompt or messages, and refuses unknown fields', async () => {
    const agent = await agentWith([says('hi')])
    expect((await generate(agent, {})).status).toBe(400)
    expect((await generate(agent, { messages: [] })).status).toBe(400)
    expect((await generate(agent, { prompt: 'x', temprature: 1 })).body.error.message).toContain('temprature')
    expect(
      (await generate(agent, { prompt: 'x', tool_choice: { type: 'tool', tool_name: 'no' } })).body.error.message,
    ).toContain('"no"')
    expect((await generate('agt_none')).status).toBe(404)
  })

  test('messages continue a conversation, and can include documents and tool outputs', async () => {
    const document = await platform.post('/documents', { path: `/note-${engine}.md`, content: 'The word is swordfish' })
    const id = await weather()
    const agent = await agentWith([
      { when: { last_user: 'swordfish' }, answer: 'I read it' },
      { when: { last_user: { equals: '21' } }, answer: 'I felt it' },
    ])
    const messages = (content: unknown) => ({
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'user', content },
      ],
    })
    const read = await generate(agent, messages({ type: 'document', document_id: document.body.id }))
    expect(read.body.output.content).toBe('I read it')
    const output = { type: 'tool_output', tool_id: id, input: { city: 'x' }, output_path: '.temperature' }
    expect((await generate(agent, messages(output))).body.output.content).toBe('I felt it')
    expect((await generate(agent, messages({ type: 'document', document_id: 'doc_none' }))).status).toBe(404)
  })

  test('stream: true returns chunks in OpenAI’s format and ends with [DONE]', async () => {
    const name = `streamed_${engine}`
    const agent = await agentWith(
      [
        calls([name, { city: 'x' }]),
        { answer: { text: ['It ', { text: 'is ', delay_ms: 20 }, { text: 'warm', delay_ms: 20 }] } },
      ],
      { tool_ids: [await weather({ name })] },
    )
    const chunks = await streamed(`/agents/${agent}/generate`, { prompt: 'How is it?', stream: true })
    expect(chunks.at(-1)).toBe('[DONE]')
    const parsed = chunks.slice(0, -1).map((chunk) => JSON.parse(chunk))
    expect(parsed[0]).toMatchObject({ object: 'chat.completion.chunk', choices: [{ delta: { role: 'assistant' } }] })
    const text = parsed.map((chunk) => chunk.choices[0].delta.content ?? '').join('')
    expect(text).toBe('It is warm')
    expect(parsed.filter((chunk) => chunk.choices[0].delta.content).length).toBeGreaterThan(1)
    expect(parsed.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }], generation: { status: 'completed' } })
  })

  test.each(['openai-compatible', 'openai', 'anthropic', 'google'])(
    'a run streams text and calls tools with a provider of type %s over HTTP',
    // Deltas that arrive together are joined. On a busy machine that may be all of them.
    { retry: 3 },
    async (type) => {
      const name = `by_${type.replace('-', '_')}_${engine}_${randomUUID().slice(0, 8)}`
      const script = {
        steps: [
          { answer: { text: 'Let me see. ', tool_calls: [{ name, args: { city: 'Recife' } }] } },
          {
            when: { last_tool: name },
            answer: {
              text: ['It ', 'is ', '{{last_tool_output.temperature}}'],
              usage: { input_tokens: 70, output_tokens: 7 },
            },
          },
        ],
      }
      await using model = await startReplayServer(script)
      const provider = await platform.post('/ai-providers', {
        name: `real ${name}`,
        type,
        base_url: `${model.url}/${type === 'google' ? 'v1beta' : 'v1'}`,
        api_key: 'sk-none',
        default_model: 'scripted',
        prices: { '*': { input: 1, output: 10 } },
      })
      expect(provider.status, JSON.stringify(provider.body)).toBe(201)
      const agent = await platform.post('/agents', {
        name: `by ${name}`,
        ai_provider_id: provider.body.id,
        tool_ids: [await weather({ name })],
      })
      const events = await streamed(`/agents/${agent.body.id}/generate`, {
        prompt: 'How is it?',
        stream: true,
        stream_format: 'events',
      })
      const parsed = events.map((event) => JSON.parse(event))
      const words = parsed.filter(({ type: kind, step }) => kind === 'text.delta' && step === 2)
      expect(words.map(({ text }) => text).join('')).toBe('It is 21')
      expect(words.length).toBeGreaterThan(1)
      const { result } = parsed.at(-1)
      expect(result).toMatchObject({ status: 'completed', output: { content: 'It is 21' } })
      expect(result.usage.output_tokens).toBeGreaterThanOrEqual(7)
      expect(result.usage.cost).toBeGreaterThan(0)
    },
  )

  test('the stream of a run that pauses ends with the pending calls', async () => {
    const name = `paused_stream_${engine}`
    const agent = await agentWith([calls([name, { city: 'x' }, 'c1']), says('over')], {
      tool_ids: [await client({ name })],
    })
    const chunks = await streamed(`/agents/${agent}/generate`, { prompt: 'x', stream: true })
    const parsed = chunks.slice(0, -1).map((chunk) => JSON.parse(chunk))
    expect(parsed.at(-1)).toMatchObject({
      choices: [{ finish_reason: 'tool_calls' }],
      generation: { status: 'requires_action' },
    })
    const [call] = parsed.flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? [])
    expect(call).toMatchObject({ id: 'c1', function: { name, arguments: '{"city":"x"}' } })
    const rest = await streamed(`/agents/${agent}/generate/${parsed.at(-1).generation.id}/tool-outputs`, {
      tool_outputs: [{ tool_call_id: 'c1', output: 'y' }],
      stream: true,
    })
    expect(
      rest
        .slice(0, -1)
        .map((chunk) => JSON.parse(chunk).choices[0].delta.content ?? '')
        .join(''),
    ).toBe('over')
  })

  test('stream_format: events streams every step, call and piece of text of a run', async () => {
    const name = `heard_${engine}`
    const agent = await agentWith(
      [calls([name, { city: 'x' }]), { answer: { text: ['a', { text: 'b', delay_ms: 10 }] } }],
      { tool_ids: [await weather({ name })] },
    )
    const events = await streamed(`/agents/${agent}/generate`, { prompt: 'x', stream: true, stream_format: 'events' })
    const types = events.map((event) => JSON.parse(event).type)
    expect(types.filter((type) => type !== 'text.delta' && type !== 'tool_call.started')).toEqual([
      'generation.started',
      'step.started',
      'step.answered',
      'call.ended',
      'step.started',
      'step.answered',
      'generation.completed',
    ])
    const { id } = JSON.parse(events.at(-1) as string).result
    const response = await platform.fetch(`/api/v1/generations/${id}/events`, {
      headers: { authorization: 'Bearer sk_admin_of_the_tests' },
    })
    expect(await response.text()).toContain('event: generation.completed')
  })

  test('a run continues when the client of its stream disconnects', async () => {
    const agent = await agentWith([
      { answer: { text: ['one ', { text: 'two ', delay_ms: 100 }, { text: 'three', delay_ms: 100 }] } },
    ])
    const response = await platform.fetch(`/api/v1/agents/${agent}/generate`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk_admin_of_the_tests', 'content-type': 'application/json' },
      body: JSON.stringify({ prompt: 'count', stream: true }),
    })
    await response.body?.cancel()
    const { data } = (await platform.get(`/generations?agent_id=${agent}`)).body
    await expect.poll(async () => (await detail(data[0].id)).status, { timeout: 5000 }).toBe('completed')
    expect((await detail(data[0].id)).output.content).toBe('one two three')
  })

  test('async: true returns 202 immediately, and the generation can be polled', async () => {
    const agent = await agentWith([{ answer: { text: 'late', delay_ms: 100 } }])
    const { status, body } = await generate(agent, { prompt: 'x', async: true })
    expect(status).toBe(202)
    expect(body).toMatchObject({ status: 'in_progress' })
    await expect.poll(async () => (await detail(body.id)).status, { timeout: 5000 }).toBe('completed')
    expect((await detail(body.id)).output.content).toBe('late')
  })

  test('a run can be cancelled while the model responds and while it waits for tool outputs', async () => {
    const slow = await agentWith([{ answer: { text: 'never', delay_ms: 20_000 } }])
    const { id } = (await generate(slow, { prompt: 'x', async: true })).body
    expect((await platform.post(`/generations/${id}/cancel`)).body).toMatchObject({ status: 'cancelled' })
    const name = `cancelled_${engine}`
    const tool_ids = [await client({ name })]
    const waiting = await agentWith([calls([name, { city: 'x' }])], { tool_ids })
    const paused = (await generate(waiting)).body
    expect((await platform.post(`/generations/${paused.id}/cancel`)).body).toMatchObject({ status: 'cancelled' })
    const { data } = (await platform.get(`/calls?tool_id=${tool_ids[0]}`)).body
    expect(data).toMatchObject([{ status: 'execution_error', error: { code: 'CALL_CANCELLED' } }])
    expect((await platform.post(`/generations/${paused.id}/cancel`)).body).toMatchObject({ status: 'cancelled' })
  })

  test('an error of the provider has its own code, in the response, the stream and the run', async () => {
    const agent = await agentWith([{ error: { status: 401 } }])
    const { status, body } = await generate(agent)
    expect(body.error.code).toBe('MODEL_KEY_REFUSED')
    expect(status).toBeGreaterThanOrEqual(400)
    const failed = await detail(body.error.details.generation_id)
    expect(failed).toMatchObject({ status: 'failed', stop_reason: 'error', error: { code: 'MODEL_KEY_REFUSED' } })
    const chunks = await streamed(`/agents/${agent}/generate`, { prompt: 'x', stream: true })
    expect(JSON.parse(chunks.at(-1) as string).error.code).toBe('MODEL_KEY_REFUSED')
  })

  test('an agent can run another agent, whose run is part of the same trace (S2.61)', async () => {
    const poet = await agentWith([says('Shall I compare thee')])
    const name = `poet_${engine}`
    const id = await tool({
      name,
      type: 'platform',
      actions: ['create-agent-generation'],
      preset_parameters: { id: poet },
    })
    const editor = await agentWith(
      [
        calls([`${name}_create-agent-generation`, { prompt: 'A sonnet, please' }]),
        { answer: 'He wrote: {{last_tool_output.output.content}}' },
      ],
      { tool_ids: [id] },
    )
    const { body } = await generate(editor)
    expect(body.output.content).toBe('He wrote: Shall I compare thee')
    const trace = (await platform.get(`/generations/${body.id}/trace`)).body
    expect(trace.children).toMatchObject([
      { agent_id: poet, initiator_generation_id: body.id, trace_id: body.trace_id },
    ])
  })

  test('client tools of an agent that another agent runs are returned to the original caller', async () => {
    const own = `inner_${engine}`
    const inner = await agentWith([calls([own, { city: 'Recife' }, 'c1']), { answer: 'It was {{last_tool_output}}' }], {
      tool_ids: [await client({ name: own })],
    })
    const name = `outer_${engine}`
    const actions = ['create-agent-generation']
    const id = await tool({ name, type: 'platform', actions, preset_parameters: { id: inner } })
    const outer = await agentWith(
      [
        calls([`${name}_create-agent-generation`, { prompt: 'ask' }]),
        { answer: '{{last_tool_output.output.content}}' },
      ],
      { tool_ids: [id] },
    )
    const paused = (await generate(outer)).body
    expect(paused).toMatchObject({
      status: 'requires_action',
      required_action: { type: 'submit_tool_outputs', tool_calls: [{ tool_call_id: 'c1', tool_name: own }] },
    })
    const { body } = await platform.post(`/agents/${outer}/generate/${paused.id}/tool-outputs`, {
      tool_outputs: [{ tool_call_id: 'c1', output: 'sunny' }],
    })
    expect(body).toMatchObject({ status: 'completed', output: { content: 'It was sunny' } })
  })

  test('agents that run each other recursively are stopped at max_call_depth, with an error', async () => {
    const name = `again_${engine}`
    const id = await tool({ name, type: 'platform', actions: ['create-agent-generation'] })
    const agent = await agentWith([says('placeholder')], { tool_ids: [id] })
    const provider = (await platform.get(`/agents/${agent}`)).body.ai_provider_id
    const script = {
      steps: [
        { when: { step: 1 }, ...calls([`${name}_create-agent-generation`, { agent_id: agent, prompt: 'again' }]) },
        { when: { step: 2 }, answer: '{{last_tool_output.output.content}}' },
      ],
    }
    expect((await platform.patch(`/ai-providers/${provider}`, { script })).status).toBe(200)
    const { body } = await generate(agent, { prompt: 'go', max_call_depth: 3 })
    expect(body.output.content).toBe('Maximum call depth reached')
    expect((await platform.get(`/generations?trace_id=${body.trace_id}`)).body.total).toBe(4)
    expect((await generate(agent, { prompt: 'go' })).body.output.content).toBe('Maximum call depth reached')
    expect((await generate(agent, { prompt: 'go', max_call_depth: 0 })).body.stop_reason).toBe('depth_limit')
  }, 60_000)

  test('platform tools of an agent can do only what both its boundary and its caller are allowed to do (S2.47)', async () => {
    const document = (await platform.post('/documents', { path: `/kept-${engine}.md`, content: 'old' })).body
    const name = `docs_${engine}`
    const id = await tool({ name, type: 'platform', actions: ['update-document', 'get-document'] })
    const script = [
      calls([`${name}_get-document`, { id: document.id }]),
      calls([`${name}_update-document`, { id: document.id, content: 'new' }]),
      { answer: '{{last_tool_output}}' },
    ]
    const reader = { statement: [{ effect: 'Allow', action: ['documents:GetDocument'] }] }
    const agent = await agentWith(script, { tool_ids: [id], boundary_policy: reader })
    const { body } = await generate(agent)
    expect(body.output.content).toContain('boundary of this agent')
    expect((await platform.get(`/documents/${document.id}`)).body.content).toBe('old')

    const free = await agentWith(script, { tool_ids: [id] })
    const poor = await platform.keyFor([{ effect: 'Allow', action: ['agents:*'] }])
    const denied = await platform.post(`/agents/${free}/generate`, { prompt: 'x' }, { key: poor })
    expect(denied.body.output.content).toContain('No access policy of this key')
    expect((await generate(free)).body.status).toBe('completed')
    expect((await platform.get(`/documents/${document.id}`)).body.content).toBe('new')
  })

  test('a key that can run an agent can use its tools through it, except tools that are explicitly denied', async () => {
    const name = `lent_${engine}`
    const id = await weather({ name })
    const agent = await agentWith([calls([name, { city: 'x' }]), { answer: '{{last_tool_output}}' }], {
      tool_ids: [id],
    })
    const run = { effect: 'Allow', action: ['agents:CreateAgentGeneration'] }
    const borrower = await platform.keyFor([run])
    expect((await platform.post(`/tools/${id}/call`, { input: { city: 'x' } }, { key: borrower })).status).toBe(403)
    const lent = await platform.post(`/agents/${agent}/generate`, { prompt: 'x' }, { key: borrower })
    expect(lent.body.output.content).toContain('21')
    const barred = await platform.keyFor([
      run,
      { effect: 'Deny', action: ['tools:CallTool'], resource: [`qm:*:tool:${id}`] },
    ])
    const refused = await platform.post(`/agents/${agent}/generate`, { prompt: 'x' }, { key: barred })
    expect(refused.body.output.content).toContain('FORBIDDEN')
    const attacher = await platform.keyFor([{ effect: 'Allow', action: ['agents:*'] }])
    const { ai_provider_id } = (await platform.get(`/agents/${agent}`)).body
    const attached = await platform.post(
      '/agents',
      { name: `attached-${engine}`, ai_provider_id, tool_ids: [id] },
      { key: attacher },
    )
    expect(attached.status).toBe(400)
  })

  test('a key without access to a generation gets 404', async () => {
    const agent = await agentWith([says('hi')])
    const { id } = (await generate(agent)).body
    const other = await platform.keyFor([{ effect: 'Allow', action: ['tools:*'] }])
    expect((await platform.get(`/generations/${id}`, { key: other })).status).toBe(404)
    expect((await platform.get('/generations', { key: other })).body.total).toBe(0)
    expect((await platform.post(`/generations/${id}/cancel`, {}, { key: other })).status).toBe(403)
  })

  test('tool_context is sent to http tools as headers', async () => {
    const name = `context_${engine}`
    const agent = await agentWith([calls([name, { city: 'x' }]), says('ok')], { tool_ids: [await weather({ name })] })
    await generate(agent, { prompt: 'x', tool_context: { UserId: 'u-1' } })
    expect(service.received.at(-1)?.headers['x-quartermaster-context-userid']).toBe('u-1')
    expect((await generate(agent, { prompt: 'x', tool_context: { 'a b': 'u' } })).status).toBe(400)
  })

  test('an action that needs approval suspends the run until a person decides, and approval resumes it (S4.21, S4.22, S4.23, S4.24, S4.25)', async () => {
    const name = `gated_${engine}`
    const id = await weather({ name, auto_approve: false })
    const agent = await agentWith([calls([name, { city: 'x' }, 'c1']), { answer: 'Got {{last_tool_output}}' }], {
      tool_ids: [id],
    })
    const reviewer = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
    const before = service.received.length
    const paused = (await generate(agent)).body
    expect(paused).toMatchObject({
      status: 'requires_action',
      required_action: {
        type: 'decide_approvals',
        tool_calls: [],
        approvals: [{ tool_call_id: 'c1', tool_name: name }],
      },
    })
    expect(service.received).toHaveLength(before)
    const [{ approval_id }] = paused.required_action.approvals
    const asked = (await platform.get(`/approvals/${approval_id}`, { key: reviewer })).body
    expect(asked).toMatchObject({ status: 'pending', input: { city: 'x' }, agent_id: agent, generation_id: paused.id })
    const own = await platform.post(`/approvals/${approval_id}/approve`, {})
    expect(own.body.error.code).toBe('SELF_APPROVAL')
    const approved = await platform.post(
      `/approvals/${approval_id}/approve`,
      { input: { city: 'y' } },
      { key: reviewer },
    )
    expect(approved.status, JSON.stringify(approved.body)).toBe(200)
    await expect.poll(async () => (await detail(paused.id)).status, { timeout: 5000 }).toBe('completed')
    expect((await detail(paused.id)).output.content).toContain('21')
    expect(service.received.slice(before).map(({ body }) => body)).toEqual(['{"city":"y"}'])
  })

  test('a rejected call is never made, and the agent gets the reason and can continue differently (S4.26)', async () => {
    const name = `rejected_${engine}`
    const id = await weather({ name, auto_approve: false })
    const agent = await agentWith(
      [
        calls([name, { city: 'x' }]),
        { when: { last_tool: { is_error: true, output: 'too far' } }, answer: 'Then not' },
      ],
      { tool_ids: [id] },
    )
    const reviewer = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
    const before = service.received.length
    const paused = (await generate(agent)).body
    const [{ approval_id }] = paused.required_action.approvals
    await platform.post(`/approvals/${approval_id}/reject`, { reason: 'too far' }, { key: reviewer })
    await expect.poll(async () => (await detail(paused.id)).status, { timeout: 5000 }).toBe('completed')
    expect((await detail(paused.id)).output.content).toBe('Then not')
    expect(service.received).toHaveLength(before)
  })

  test('a call without a decision is rejected when the approval times out, and the run continues (S4.27, S4.28)', async () => {
    const name = `late_${engine}`
    const id = await weather({ name, auto_approve: false, approval_timeout_seconds: 1 })
    const agent = await agentWith(
      [
        calls([name, { city: 'x' }]),
        { when: { last_tool: { is_error: true, output: 'EXPIRED' } }, answer: 'Too late' },
      ],
      { tool_ids: [id] },
    )
    const paused = (await generate(agent)).body
    await expect.poll(async () => (await detail(paused.id)).status, { timeout: 10_000 }).toBe('completed')
    expect((await detail(paused.id)).output.content).toBe('Too late')
  }, 20_000)

  test('cancelling a run cancels its pending approvals', async () => {
    const name = `withdrawn_${engine}`
    const agent = await agentWith([calls([name, { city: 'x' }]), says('no')], {
      tool_ids: [await weather({ name, auto_approve: false })],
    })
    const paused = (await generate(agent)).body
    const [{ approval_id }] = paused.required_action.approvals
    await platform.post(`/generations/${paused.id}/cancel`)
    expect((await platform.get(`/approvals/${approval_id}`)).body.status).toBe('cancelled')
  })

  test('webhooks receive the status changes of a run and its approval requests', async () => {
    await using ear = await startService()
    const events = ['generation.completed', 'generation.requires_action', 'generation.failed', 'approval.requested']
    const hook = await platform.post('/webhooks', { name: `ear-${engine}`, url: ear.url, events })
    expect(hook.status, JSON.stringify(hook.body)).toBe(201)
    const name = `told_${engine}`
    const agent = await agentWith([calls([name, { city: 'x' }, 'c1']), says('done')], {
      tool_ids: [await client({ name })],
    })
    const { id } = (await generate(agent)).body
    await platform.post(`/agents/${agent}/generate/${id}/tool-outputs`, {
      tool_outputs: [{ tool_call_id: 'c1', output: 1 }],
    })
    await generate(await agentWith([{ error: { status: 401 } }]))
    const gated = `told_of_${engine}`
    const asking = await agentWith([calls([gated, { city: 'x' }]), says('no')], {
      tool_ids: [await weather({ name: gated, auto_approve: false })],
    })
    const waiting = (await generate(asking)).body
    const heard = () => ear.received.map(({ body }) => JSON.parse(body))
    await expect.poll(() => heard().length, { timeout: 10_000 }).toBe(5)
    const types = heard().map(({ type, data }) => `${type} ${data.generation_id}`)
    expect(types).toEqual(
      expect.arrayContaining([
        `generation.requires_action ${id}`,
        `generation.completed ${id}`,
        `approval.requested ${waiting.id}`,
        `generation.requires_action ${waiting.id}`,
      ]),
    )
    await platform.post(`/generations/${waiting.id}/cancel`)
    await platform.delete(`/webhooks/${hook.body.id}`)
  }, 30_000)

  test('webhooks receive an event for each pause of a run, also within one step', async () => {
    await using ear = await startService()
    const events = ['generation.requires_action']
    const hook = await platform.post('/webhooks', { name: `twice-${engine}`, url: ear.url, events })
    const name = `both_${engine}`
    const agent = await agentWith([calls([name, { city: 'x' }], [name, { city: 'y' }]), says('done')], {
      tool_ids: [await weather({ name, auto_approve: false })],
    })
    const reviewer = await platform.keyFor([{ effect: 'Allow', action: ['approvals:*'] }])
    const paused = (await generate(agent)).body
    await expect.poll(() => ear.received.length, { timeout: 10_000 }).toBe(1)
    const [{ approval_id }] = paused.required_action.approvals
    await platform.post(`/approvals/${approval_id}/approve`, {}, { key: reviewer })
    await expect.poll(() => ear.received.length, { timeout: 10_000 }).toBe(2)
    await platform.post(`/generations/${paused.id}/cancel`)
    await platform.delete(`/webhooks/${hook.body.id}`)
  }, 30_000)

  test('max_context_messages limits what the model sees, and never separates a tool result from its call', async () => {
    const name = `forgetful_${engine}`
    const steps = [1, 2, 3].map((step) => ({
      when: { step: step === 1 ? 1 : 2 },
      ...calls([name, { city: `${step}` }]),
    }))
    const agent = await agentWith([...steps.slice(0, 2), says('x')], {
      tool_ids: [await weather({ name })],
      max_context_messages: 2,
      max_steps: 3,
    })
    expect((await generate(agent)).body).toMatchObject({ status: 'completed', stop_reason: 'max_steps' })
  })

  async function streamed(path: string, body: object): Promise<string[]> {
    const response = await platform.fetch(`/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk_admin_of_the_tests', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const text = await response.text()
    return text
      .split('\n\n')
      .flatMap((block) => block.split('\n').filter((line) => line.startsWith('data: ')))
      .map((line) => line.slice('data: '.length))
  }
})
