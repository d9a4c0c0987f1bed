import { describe, expect, test } from 'vitest'
import { readManifest } from './read.ts'

const base = (context = '', mcps = '') => `id: car-desk
secrets:
  - secret_name: CRM_KEY
agent_config:
  llms:
    generation: { provider: openai-compatible, base_url: http://127.0.0.1:9999/v1, model: m }
  mcps:
    - id: cars
      hostname: http://cars-mcp
      port: 8765
${mcps}  context:
    description: You sell cars.
${context}`

const faultsOf = (text: string) => readManifest(text).faults.map(({ path, message }) => `${path}: ${message}`)
const server = (fields: string) => base('', `    - { id: crm, hostname: http://crm, port: 80, ${fields} }\n`)

test('a manifest has the shape that its documentation shows (S1.4)', () => {
  const { manifest, faults } = readManifest(base())
  expect(faults).toEqual([])
  expect(manifest?.agent_config.mcps).toEqual([
    { id: 'cars', hostname: 'http://cars-mcp', port: 8765, transport: 'streamable-http' },
  ])
  expect(readManifest(`schema_version: 6.1.1\n${base()}`).faults).toEqual([])
  expect(faultsOf(`schema_version: 7.0.0\n${base()}`)).toEqual(['schema_version: must be 6.1.1'])
})

describe('the declaration of a server', () => {
  const at = 'agent_config.mcps[1]'
  test.each([
    ['needs an id (S1.7)', base('', '    - { hostname: http://crm, port: 80 }\n'), `${at}.id: is missing`],
    ['needs a hostname (S1.8)', base('', '    - { id: crm, port: 80 }\n'), `${at}.hostname: is missing`],
    [
      'needs a scheme (S1.8)',
      base('', '    - { id: crm, hostname: crm, port: 80 }\n'),
      `${at}.hostname: must start with http:// or https://`,
    ],
    [
      'has no path in its hostname (S1.9)',
      base('', '    - { id: crm, hostname: http://crm/mcp, port: 80 }\n'),
      `${at}.hostname: must not contain a path: only the scheme and the host`,
    ],
    [
      'has no port in its hostname (S1.9)',
      base('', '    - { id: crm, hostname: "http://crm:81", port: 80 }\n'),
      `${at}.hostname: must not contain a port: use the field "port"`,
    ],
    [
      'has no query in its hostname (S1.9)',
      base('', '    - { id: crm, hostname: "http://crm?a=1", port: 80 }\n'),
      `${at}.hostname: must not contain a query: only the scheme and the host`,
    ],
    ['needs a port (S1.10)', base('', '    - { id: crm, hostname: http://crm }\n'), `${at}.port: is missing`],
    [
      'has no port 0 (S1.10)',
      base('', '    - { id: crm, hostname: http://crm, port: 0 }\n'),
      `${at}.port: must be from 1 to 65535`,
    ],
    [
      'has no port 65536 (S1.10)',
      base('', '    - { id: crm, hostname: http://crm, port: 65536 }\n'),
      `${at}.port: must be from 1 to 65535`,
    ],
    [
      'has the only transport there is (S1.11)',
      server('transport: sse'),
      `${at}.transport: must be streamable-http, the only supported transport`,
    ],
    [
      'has a reference as its key (S1.12)',
      server('api_key: secret-value'),
      `${at}.api_key: must be a reference such as \${CRM_KEY}, and the variable must be declared in secrets`,
    ],
    [
      'has a key that is declared',
      server('api_key: "${CRM_KEYS}"'),
      `${at}.api_key: \${CRM_KEYS} is not declared in secrets; did you mean "CRM_KEY"?`,
    ],
    [
      'has an id of its own',
      base('', '    - { id: cars, hostname: http://crm, port: 80 }\n'),
      `${at}.id: "cars" is there twice`,
    ],
    [
      'suggests the field that was meant',
      server('api_kye: "${CRM_KEY}"'),
      `${at}.api_kye: is not a known field; did you mean "api_key"?`,
    ],
  ])('%s', (_, text, fault) => {
    expect(faultsOf(text)).toEqual([fault])
  })
})

const routine = (nodes: string, more = '') => `    routines:
      - id: order
        title: Order
        conditions: [the customer wants to order]
        entry: start
${more}        nodes:
${nodes}`

describe('a routine', () => {
  const at = 'agent_config.context.routines[0]'
  test.each([
    [
      'has no node with both tools and chat (S1.23)',
      '          - { id: start, tools: cars:search, tool_instruction: x, chat_state: hi }\n',
      `${at}.nodes[0]: has both tools and chat_state. A node calls tools or talks, because it completes in one way only: make two nodes with a transition between them`,
    ],
    [
      'has a node of one kind',
      '          - { id: start }\n',
      `${at}.nodes[0]: has none of chat_state, tools, think, routing`,
    ],
    [
      'has an instruction for its tools (S1.20)',
      '          - { id: start, tools: cars:search }\n',
      `${at}.nodes[0]: has tools but no tool_instruction, which says how to derive the arguments`,
    ],
    [
      'leads somewhere',
      '          - { id: start, chat_state: hi, transitions: [{ to: ende }] }\n          - { id: end, chat_state: bye }\n',
      `${at}.nodes[0].transitions[0].to: there is no node "ende"; did you mean "end"?`,
    ],
    [
      'has no unreachable nodes',
      '          - { id: start, chat_state: hi }\n          - { id: lost, chat_state: bye }\n',
      `${at}.nodes[1]: "lost" cannot be reached from the entry "start"`,
    ],
    [
      'has a way out of each loop',
      '          - { id: start, chat_state: hi, transitions: [{ to: start }] }\n',
      `${at}.nodes[0]: "start" is in a loop with no way out: give a node of the loop a transition that leaves it`,
    ],
    [
      'uses servers that are declared',
      '          - { id: start, tools: car:search, tool_instruction: x }\n',
      `${at}.nodes[0].tools: no server in mcps has the id "car"; did you mean "cars"?`,
    ],
    [
      'emits output only if it is autonomous',
      '          - { id: start, tools: built-in:emit_output }\n',
      `${at}.nodes[0].tools: built-in:emit_output can be used only in a routine with "autonomous"`,
    ],
    ['thinks with a schema', '          - { id: start, think: x }\n', `${at}.nodes[0]: has think but no output_schema`],
    [
      'has valid expressions',
      '          - { id: start, chat_state: hi, transitions: [{ to: end, when: "session.(" }] }\n          - { id: end, chat_state: bye }\n',
      expect.stringMatching(/transitions\[0\]\.when: is not a valid expression: /),
    ],
  ])('%s', (_, nodes, fault) => {
    const found = faultsOf(base(routine(nodes)))
    expect(found).toContainEqual(fault)
  })

  test('that is autonomous ends each path with emit_output (S1.25)', () => {
    const autonomous = '        autonomous: { output_schema: { type: object } }\n'
    const nodes = '          - { id: start, tools: cars:search, tool_instruction: x }\n'
    expect(faultsOf(base(routine(nodes, autonomous)))).toEqual([
      `${at}.nodes[0]: "start" has no transitions, so it must end the run: use "tools: built-in:emit_output"`,
    ])
  })

  test('cannot go to a node of another routine', () => {
    const one = routine('          - { id: start, chat_state: hi, transitions: [{ to: pay }] }\n')
    const other = '      - { id: other, title: O, conditions: x, entry: pay, nodes: [{ id: pay, chat_state: pay }] }\n'
    expect(faultsOf(base(one + other))).toContain(
      `${at}.nodes[0].transitions[0].to: there is no node "pay"; it is a node of the routine "other", and transitions stay within a routine`,
    )
  })
})

test('there are two built-in tools, and their namespace is taken (S1.29)', () => {
  const reserved = base('', '    - { id: built-in, hostname: http://crm, port: 80 }\n')
  const other = base('    policies: [{ id: a, action: x, tools: "built-in:other" }]\n')
  const reason = base(routine('          - { id: start, tools: "built-in:reason", tool_instruction: x }\n'))

  expect(faultsOf(reserved)).toEqual(['agent_config.mcps[1].id: "built-in" is reserved'])
  expect(faultsOf(other)).toEqual([expect.stringMatching(/no server in mcps has the id "built-in"/)])
  expect(faultsOf(reason)).toContain(
    'agent_config.context.routines[0].nodes[0].tools: built-in:reason is used by writing think and output_schema',
  )
})

test('a routine has one entry, and valid schemas', () => {
  const two = base(routine('          - { id: start, chat_state: hi }\n')).replace(
    'entry: start',
    'entry: [start, end]',
  )
  const wrong = base(routine('          - { id: start, think: x, output_schema: { type: strnig } }\n'))

  expect(faultsOf(two)).toEqual(['agent_config.context.routines[0].entry: must be the id of one node'])
  expect(faultsOf(wrong)).toEqual([
    expect.stringMatching(/^agent_config\.context\.routines\[0\]\.nodes\[0\]\.output_schema: is not a JSON Schema/),
  ])
})

test('all faults are reported at once, with their line and column', () => {
  const text = base(
    '    policies:\n      - { id: a, action: x, in_routine: none }\n      - { id: a, action: "", whn: "true" }\n',
    '    - { id: crm, hostname: crm, port: 0 }\n',
  )
  const { manifest, faults } = readManifest(text)
  expect(manifest).toBeUndefined()
  expect(faults.map(({ line, column, path }) => `${line}:${column} ${path}`)).toEqual([
    '11:18 agent_config.mcps[1].hostname',
    '11:33 agent_config.mcps[1].port',
    '16:18 agent_config.context.policies[1].action',
    '16:30 agent_config.context.policies[1].whn',
  ])
})

test('variables and canned replies are checked, with their line and column', () => {
  const text = base(
    [
      '    reply_mode: strict\n',
      '    variables:\n',
      '      - { id: car, tool: crs:search, arguments: { id: ["${{ session.( }}"] }, max_age_seconds: -1 }\n',
      '      - { id: car, tool: cars:search }\n',
    ].join(''),
  )
  const { faults } = readManifest(text)
  const replies = base('    canned_replies:\n      - { id: a, text: "Hi ${{ sesion.id }}", when: "1 +" }\n')

  expect(faults.map(({ line, column, path }) => `${line}:${column} ${path}`)).toEqual([
    expect.stringMatching(/^\d+:5 agent_config\.context\.reply_mode$/),
    expect.stringMatching(/^\d+:20 agent_config\.context\.variables\[0\]\.tool$/),
    expect.stringMatching(/^\d+:\d+ agent_config\.context\.variables\[0\]\.arguments\.id\[0\]$/),
    expect.stringMatching(/^\d+:\d+ agent_config\.context\.variables\[0\]\.max_age_seconds$/),
    expect.stringMatching(/^\d+:11 agent_config\.context\.variables\[1\]\.id$/),
  ])
  expect(faultsOf(base('    variables: [{ id: a-b, tool: cars:search }]\n'))).toEqual([
    'agent_config.context.variables[0].id: must consist of letters, digits and underscores',
  ])
  expect(faultsOf(replies)).toEqual([
    expect.stringMatching(/canned_replies\[0\]\.text: the expression "sesion\.id" is not valid/),
    expect.stringMatching(/canned_replies\[0\]\.when: is not a valid expression/),
  ])
})

test('secrets cannot be used in texts, which models see', () => {
  const text = base('    policies: [{ id: a, action: "Say ${CRM_KEY}" }]\n')
  expect(faultsOf(text)).toEqual([
    'agent_config.context.policies[0].action: ${CRM_KEY} is a secret, so it can be used only as an api_key or callback_secret',
  ])
})

test.each(['', '- a', 'a: [', 'id: x\nid: y\nagent_config: {}', '{'])(
  'text that is no manifest is refused: %j',
  (text) => {
    expect(readManifest(text).faults.length).toBeGreaterThan(0)
  },
)

test('an alias without an anchor is a problem of the manifest, not an exception', () => {
  expect(readManifest('*K').faults).toMatchObject([{ line: 1, column: 1, message: expect.stringContaining('alias') }])
})
