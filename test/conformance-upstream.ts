import { createHmac } from 'node:crypto'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { UpstreamTool } from './upstream.ts'

const text = (value: string) => ({ type: 'text', text: value })
const image = {
  type: 'image',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  mimeType: 'image/png',
}
const audio = {
  type: 'audio',
  data: 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=',
  mimeType: 'audio/wav',
}
const resource = {
  type: 'resource',
  resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' },
}

const tool = (name: string, description: string, run: UpstreamTool['run']): UpstreamTool => ({
  name,
  description,
  inputSchema: { type: 'object', properties: {} },
  ...(run && { run }),
})

type Questions = Record<string, { method: string; params: Record<string, unknown> }>

const elicitation = (message: string, properties: Record<string, unknown> = { name: { type: 'string' } }) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties, required: Object.keys(properties).slice(0, 1) } },
})
const sampling = (prompt: string) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 },
})
const roots = { method: 'roots/list', params: {} }
const name = elicitation('What is your name?')
const confirm = elicitation('Please confirm', { ok: { type: 'boolean' } })
const titled = (...values: string[]) => values.map((value) => ({ const: value, title: `The ${value}` }))

const signatureOf = (state: string) => createHmac('sha256', 'of the test').update(state).digest('hex')
const isSigned = (state: unknown): boolean => {
  const [content = '', signature] = String(state).split('.')
  return signature === signatureOf(content)
}

const ask = (inputRequests: Questions, state = 'asked') => ({
  resultType: 'input_required',
  inputRequests,
  requestState: `${state}.${signatureOf(state)}`,
})

/** A tool that sends client requests before it returns, and repeats them while responses are missing. */
const asking = (
  toolName: string,
  questionsOf: (input: Record<string, unknown>) => Questions,
  schema: Record<string, unknown> = { properties: {} },
): UpstreamTool => ({
  name: toolName,
  description: 'Asks the client, and answers what it said',
  inputSchema: { type: 'object', ...schema },
  run: (input, _signal, { inputResponses, requestState }) => {
    const state = requestState()
    if (state !== undefined && !isSigned(state)) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The state is not from this server')
    }
    const questions = questionsOf(input)
    const answers = (inputResponses ?? {}) as Record<string, unknown>
    const isAnswered = Object.keys(questions).every((key) => answers[key] !== undefined)
    return isAnswered ? { content: [text(`state-ok ${JSON.stringify(answers)}`)] } : ask(questions)
  },
})

/** The tools that the official conformance suite expects of a server. */
export const conformanceTools: UpstreamTool[] = [
  tool('test_simple_text', 'Answers text', () => ({ content: [text('This is a simple text response for testing.')] })),
  tool('test_image_content', 'Answers an image', () => ({ content: [image] })),
  tool('test_audio_content', 'Answers audio', () => ({ content: [audio] })),
  tool('test_embedded_resource', 'Answers a resource', () => ({ content: [resource] })),
  tool('test_multiple_content_types', 'Answers several kinds', () => ({
    content: [
      text('Multiple content types test:'),
      image,
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ],
  })),
  tool('test_error_handling', 'Always fails', () => ({
    content: [text('This tool intentionally returns an error for testing')],
    isError: true,
  })),
  tool('test_tool_with_progress', 'Tells how far it is', async (_input, _signal, { _meta, notify }) => {
    const progressToken = _meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return { content: [text(String(progressToken ?? 'none'))] }
  }),
  {
    name: 'json_schema_2020_12_tool',
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, never awaited
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    } as unknown as UpstreamTool['inputSchema'],
    run: (input) => ({ content: [text(JSON.stringify(input))] }),
  },
  {
    name: 'test_header_mirroring',
    description: 'Wants its region in a header too',
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
    run: (input) => ({ content: [text(JSON.stringify(input))] }),
  },
  tool('test_tool_with_logging', 'Logs three times', async (_input, _signal, { log }) => {
    for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await log('info', message)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return { content: [text('logged')] }
  }),
  tool('test_logging_tool', 'Logs once', async (_input, _signal, { log }) => {
    await log('info', 'something happened')
    return { content: [text('logged')] }
  }),
  asking('test_sampling', ({ prompt }) => ({ answer: sampling(String(prompt)) }), {
    properties: { prompt: { type: 'string' } },
    required: ['prompt'],
  }),
  asking(
    'test_elicitation',
    ({ message }) => ({
      answer: elicitation(String(message), {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      }),
    }),
    { properties: { message: { type: 'string' } }, required: ['message'] },
  ),
  asking('test_elicitation_sep1034_defaults', () => ({
    answer: elicitation('Please review', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  })),
  asking('test_elicitation_sep1330_enums', () => ({
    answer: elicitation('Please choose', {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: { type: 'string', oneOf: titled('value1', 'value2', 'value3') },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
      titledMulti: { type: 'array', items: { anyOf: titled('value1', 'value2', 'value3') } },
    }),
  })),
  asking('test_missing_capability', () => ({ answer: sampling('Anything') })),
  asking('test_streaming_elicitation', () => ({ answer: name })),
  asking('test_input_required_result_elicitation', () => ({ user_name: name })),
  asking('test_input_required_result_sampling', () => ({
    capital_question: sampling('What is the capital of France?'),
  })),
  asking('test_input_required_result_list_roots', () => ({ client_roots: roots })),
  asking('test_input_required_result_multiple_inputs', () => ({
    user_name: name,
    greeting: sampling('Generate a greeting'),
    client_roots: roots,
  })),
  asking('test_input_required_result_request_state', () => ({ confirm })),
  asking('test_input_required_result_tampered_state', () => ({ confirm })),
  tool('test_input_required_result_multi_round', 'Asks twice', (_input, _signal, { inputResponses, requestState }) => {
    const { step1, step2 } = (inputResponses ?? {}) as Record<string, unknown>
    if (step2 && isSigned(requestState())) return { content: [text('done')] }
    if (step1 && isSigned(requestState()))
      return ask({ step2: elicitation('Step 2: What is your favorite color?') }, 'two')
    return ask({ step1: elicitation('Step 1: What is your name?') }, 'one')
  }),
  tool('test_input_required_result_capabilities', 'Asks what the client can', (_input, _signal, { envelope }) => {
    const can = (envelope as Record<string, object> | undefined)?.['io.modelcontextprotocol/clientCapabilities'] ?? {}
    return ask({
      ...('sampling' in can && { greeting: sampling('Generate a greeting') }),
      ...('elicitation' in can && { user_name: name }),
    })
  }),
]
