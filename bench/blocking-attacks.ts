import type { Answer, Target } from './blocking.ts'

/** `prepare` creates the records that the attack needs. It returns a function that sends the measured request or requests. */
export interface Attack {
  readonly name: string
  prepare(target: Target): Promise<() => Promise<Answer>>
}

type Json = Record<string, unknown>

const many = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))

const required = ({ status, text, body }: Answer) => {
  if (status >= 300) throw new Error(`${status} ${text.slice(0, 300)}`)
  return body
}

const newTool = async ({ send, upstream }: Target, fields: Json = {}): Promise<string> =>
  required(
    await send('POST', '/tools', {
      name: 'target',
      parameters: { type: 'object' },
      execute: { url: `${upstream.url}/` },
      ...fields,
    }),
  ).id

const mcpTool = async ({ send, upstream }: Target, fields: Json = {}): Promise<string> =>
  required(
    await send('POST', '/tools', { name: 'upstream', type: 'mcp', mcp: { url: `${upstream.url}/mcp` }, ...fields }),
  ).id

/** A request without preparation. */
const request = (name: string, method: string, path: string, body: () => unknown): Attack => ({
  name,
  prepare: async ({ send }) => {
    const text = JSON.stringify(body())
    return () => send(method, path, text)
  },
})

/** Tests an approval rule against an input. */
const rule = (name: string, expression: string, input: () => Json): Attack => ({
  name: `rule: ${name}`,
  prepare: async (target) => {
    const tool_id = await newTool(target)
    return () => target.send('POST', '/approval-rules/test', { expression, tool_id, input: input() })
  },
})

/** Calls an http tool with these parameters. */
const call = (name: string, parameters: () => Json, input: () => unknown): Attack => ({
  name: `input: ${name}`,
  prepare: async (target) => {
    const id = await newTool(target, { parameters: parameters() })
    await target.send('POST', `/tools/${id}/call`, { input: {} })
    const text = JSON.stringify({ input: input() })
    return () => target.send('POST', `/tools/${id}/call`, text)
  },
})

/** Registers an http tool with these parameters. */
const schema = (name: string, parameters: () => Json, more: () => Json = () => ({})): Attack => ({
  name: `schema: ${name}`,
  prepare: async (target) => {
    const execute = { url: `${target.upstream.url}/` }
    return () => target.send('POST', '/tools', { name: 'attack', execute, parameters: parameters(), ...more() })
  },
})

/** Calls an http tool whose upstream returns this response. */
const answered = (name: string, answer: () => string): Attack => ({
  name: `answer: ${name}`,
  prepare: async (target) => {
    const id = await newTool(target)
    target.upstream.answer = answer()
    return () => target.send('POST', `/tools/${id}/call`, { input: {} })
  },
})

/** Uses an MCP server that offers these tools. Lists the actions unless `run` does something else. */
const offered = (
  name: string,
  tools: () => readonly object[],
  run?: (id: string, target: Target) => Promise<Answer>,
) => ({
  name: `upstream: ${name}`,
  prepare: async (target: Target) => {
    target.upstream.tools = tools()
    const id = await mcpTool(target)
    return () => run?.(id, target) ?? target.send('GET', `/tools/${id}/actions?limit=1`)
  },
})

const nested = (size: number) => {
  const [open, close] = ['['.repeat(90), ']'.repeat(90)]
  return `[${many(Math.floor(size / 181), () => open + close).join(',')}]`
}

/** The maximum number of distinct field names, and of fields in large objects, that the limits allow. */
const distinctFields = () => [
  ...many(2, () => Object.fromEntries(many(5000, (i) => [`k${i}`, 1]))),
  ...many(70, (n) => Object.fromEntries(many(64, (i) => [`${n}_${i}`, 1]))),
  ...many(1000, () => Object.fromEntries(many(64, (i) => [`k${i}`, 1]))),
]

const wide = (size: number): Json => ({
  type: 'object',
  properties: Object.fromEntries(
    many(Math.floor(size / 60), (i) => [`property_${i}`, { type: 'string', maxLength: 100 }]),
  ),
})

/** A schema like that of a large object in an OpenAPI document: nested, with formats and alternatives. */
const involved = (size: number): Json => ({
  type: 'object',
  properties: Object.fromEntries(
    many(Math.floor(size / 230), (i) => [
      `field_${i}`,
      {
        anyOf: [
          {
            type: 'object',
            properties: { a: { type: 'string', format: 'date-time' }, b: { type: 'integer', minimum: 0 } },
          },
          { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' } },
          { type: 'null' },
        ],
      },
    ]),
  ),
})

const bind = (depth: number, last: string) =>
  many(depth, (i) => `cel.bind(a${i}, ${i === 0 ? 'input.s' : `a${i - 1} + a${i - 1}`}, `).join('') +
  last.replaceAll('LAST', `a${depth - 1}`) +
  ')'.repeat(depth)

/** A fixed pseudo-random sequence of a and b, for which an automaton needs many states. */
const letters = (length: number) => {
  let state = 1
  return many(length, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state & 65_536 ? 'a' : 'b'
  }).join('')
}

const slowPattern = '[ab]*a[ab]{60}[cd]'

export const attacks: readonly Attack[] = [
  rule('matches, once for each of 50 items', `input.l.exists(i, input.s.matches("${slowPattern}"))`, () => ({
    l: many(50, (i) => i),
    s: letters(50_000),
  })),
  rule('matches with patterns of the input', 'input.l.exists(p, input.s.matches(p))', () => ({
    l: many(1500, (i) => `(a|b)*${i}a{300}`),
    s: letters(2000),
  })),
  rule('a large pattern', `input.s.matches("${'a{999}'.repeat(300)}")`, () => ({ s: 'a'.repeat(1000) })),
  rule('every item compared with every other', 'input.l.all(i, !([i] in input.l))', () => ({
    l: many(16_000, () => []),
  })),
  rule('lists compared in a loop', 'input.l.all(i, input.m == input.n)', () => ({
    l: many(5000, () => 1),
    m: many(8000, () => ({})),
    n: many(8000, () => ({})),
  })),
  rule('lists joined in a loop', 'input.l.all(i, (input.l + input.l).size() > 0)', () => ({
    l: many(30_000, () => 1),
  })),
  rule('a text doubled repeatedly', bind(14, 'size(LAST) > 0'), () => ({ s: 'a'.repeat(60_000) })),
  rule('a list doubled repeatedly', bind(14, 'LAST.all(i, i > 0)'), () => ({ s: many(10_000, () => 1) })),
  rule('split in a loop', 'input.l.all(i, input.s.split("").size() > 0)', () => ({
    l: many(2000, () => 1),
    s: 'a'.repeat(50_000),
  })),
  rule('size in a loop', 'input.l.all(i, size(input.s) > 0)', () => ({
    l: many(5000, () => 1),
    s: 'a'.repeat(50_000),
  })),
  rule('contains in a loop', 'input.l.all(i, !input.s.contains(input.t))', () => ({
    l: many(5000, () => 1),
    s: 'a'.repeat(40_000),
    t: `b${'a'.repeat(10_000)}`,
  })),
  rule('a long duration', 'duration(input.s) > duration("1s")', () => ({ s: '1'.repeat(3000) })),
  rule('time zones in a loop', 'input.l.all(i, timestamp(int(i)).getHours("Europe/Berlin") >= 0)', () => ({
    l: many(30_000, (i) => i % 10),
  })),
  rule('errors in a loop', 'input.l.all(i, timestamp(i).getHours() >= 0)', () => ({ l: many(16_000, () => 'x') })),
  rule('two loops over a few values', 'input.l.all(i, input.l.all(j, i + j >= 0.0))', () => ({
    l: many(310, () => 1.5),
  })),
  {
    name: 'rule: 100 rules on one call',
    prepare: async (target) => {
      const id = await newTool(target)
      for (let n = 0; n < 100; n++) {
        const expression = `input.l.exists(i, input.s.matches("${slowPattern}")) || ${n} < 0`
        required(await target.send('POST', '/approval-rules', { name: `rule ${n}`, expression }))
      }
      const input = { l: many(20, (i) => i), s: letters(10_000) }
      return () => target.send('POST', `/tools/${id}/call`, { input, wait: false })
    },
  },
  {
    name: 'rule: 100 rules, compiled for the first time',
    prepare: async (target) => {
      const id = await newTool(target)
      const patterns = (n: number) =>
        many(40, (i) => `input.s.matches("(${n}|${i})*x(ab|cd){${300 + i}}")`).join(' || ')
      for (let n = 0; n < 100; n++) {
        const rule = { name: `rule ${n}`, expression: `action.id == "x" && (${patterns(n)})` }
        required(await target.send('POST', '/approval-rules', rule))
      }
      return () => target.send('POST', `/tools/${id}/call`, { input: { s: 'abc' }, wait: false })
    },
  },

  schema('120 KB, many plain properties', () => wide(120_000)),
  schema('120 KB, nested with alternatives', () => involved(120_000)),
  {
    name: 'schema: 120 KB, ten at once',
    prepare: async (target) => {
      const execute = { url: `${target.upstream.url}/` }
      const parameters = involved(120_000)
      return async () => {
        const all = await Promise.all(
          many(10, (i) => target.send('POST', '/tools', { name: `attack-${i}`, execute, parameters })),
        )
        return all[9] as Answer
      }
    },
  },
  schema('4 MB', () => wide(3_900_000)),
  schema(
    '100 presets on 100 KB of definitions',
    () => ({
      type: 'object',
      properties: Object.fromEntries(many(100, (i) => [`p${i}`, { $ref: '#/$defs/all' }])),
      $defs: { all: { anyOf: [{ type: 'string' }, involved(90_000)] } },
    }),
    () => ({ preset_parameters: Object.fromEntries(many(100, (i) => [`p${i}`, 'x'])) }),
  ),
  schema('patterns with many repetitions', () => ({
    type: 'object',
    properties: Object.fromEntries(
      many(100, (i) => [`p${i}`, { type: 'string', pattern: `(${'a{999}'.repeat(150)})*${i}b` }]),
    ),
  })),
  schema('many patterns of medium size', () => ({
    type: 'object',
    properties: Object.fromEntries(many(1000, (i) => [`p${i}`, { type: 'string', pattern: `(a|b)*a(a|b){300}${i}` }])),
  })),
  schema('a long enum', () => ({ type: 'object', properties: { a: { enum: many(20_000, (i) => i) } } })),
  schema('nested 90 deep, in alternatives', () => ({
    type: 'object',
    properties: {
      a: many(40, (i) => i).reduce<Json>((inner) => ({ anyOf: [inner, { type: 'string' }] }), { type: 'number' }),
    },
  })),

  {
    name: 'schema: first call of a tool with 120 KB',
    prepare: async (target) => {
      target.upstream.tools = [{ name: 'large', inputSchema: involved(120_000) }]
      const id = await mcpTool(target)
      required(await target.send('GET', `/tools/${id}/actions?limit=1`))
      target.upstream.answer = '{"content":[]}'
      return () => target.send('POST', `/tools/${id}/call`, { action: 'large', input: { field_1: 'x' } })
    },
  },

  call(
    '1 MB of text against a pattern',
    () => ({ type: 'object', properties: { a: { type: 'string', pattern: '^(a|b)*a(a|b){60}[cd]$' } } }),
    () => ({ a: letters(1_000_000) }),
  ),
  call(
    '300,000 wrong keys',
    () => ({ type: 'object', properties: {}, additionalProperties: false }),
    () => Object.fromEntries(many(300_000, (i) => [`k${i}`, 1])),
  ),
  call(
    '300,000 keys, each of the wrong type',
    () => ({ type: 'object', additionalProperties: { type: 'string', minLength: 3 } }),
    () => Object.fromEntries(many(300_000, (i) => [`k${i}`, 1])),
  ),
  call(
    '1.9 million items, each wrong',
    () => ({ type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } } }),
    () => ({ a: many(1_900_000, () => 1) }),
  ),
  call(
    '1.9 million items, each right',
    () => ({ type: 'object', properties: { a: { type: 'array', items: { type: 'integer', minimum: 0 } } } }),
    () => ({ a: many(1_900_000, () => 1) }),
  ),
  call(
    '200,000 items that must differ',
    () => ({ type: 'object', properties: { a: { type: 'array', uniqueItems: true } } }),
    () => ({ a: many(200_000, (i) => ({ i })) }),
  ),
  call(
    'many items under many schemas',
    () => ({ type: 'object', properties: { a: { allOf: many(1000, () => ({ items: { minimum: 0 } })) } } }),
    () => ({ a: many(20_000, () => 1) }),
  ),
  call(
    '4 MB of nested arrays',
    () => ({ type: 'object' }),
    () => ({ a: JSON.parse(nested(3_900_000)) }),
  ),
  call(
    '4 MB of nested arrays with a token',
    () => ({ type: 'object' }),
    () => ({
      a: JSON.parse(nested(3_900_000)),
      b: 'Bearer abcdefghijkl',
    }),
  ),
  call(
    '4 MB of text',
    () => ({ type: 'object' }),
    () => ({ a: 'a'.repeat(4_000_000) }),
  ),
  call(
    '500,000 small objects',
    () => ({ type: 'object' }),
    () => ({ token: 1, a: many(500_000, () => ({})) }),
  ),
  call(
    'as many nested lists as allowed, with a token',
    () => ({ type: 'object' }),
    () => ({
      a: JSON.parse(nested(240_000)),
      b: 'Bearer abcdefghijkl',
    }),
  ),
  call(
    'as many small objects as allowed, with a token',
    () => ({ type: 'object' }),
    () => ({
      token: 'abc',
      a: many(80_000, (i) => ({ x: i })),
    }),
  ),
  call(
    'as many fields as allowed, each wrong',
    () => ({
      type: 'object',
      properties: { a: { type: 'array', items: { additionalProperties: { type: 'string' } } } },
    }),
    () => ({ a: distinctFields() }),
  ),
  call(
    'as many unknown fields as allowed',
    () => ({ type: 'object', properties: {}, additionalProperties: false }),
    () => Object.fromEntries(many(9990, (i) => [`k${i}`, 1])),
  ),
  call(
    'as many items that must differ as allowed',
    () => ({ type: 'object', properties: { a: { type: 'array', uniqueItems: true } } }),
    () => ({ a: many(80_000, (i) => ({ i })) }),
  ),
  {
    name: 'input: as many values as allowed, waiting for approval',
    prepare: async (target) => {
      const id = await newTool(target, { auto_approve: false })
      const text = JSON.stringify({ wait: false, input: { a: JSON.parse(nested(230_000)), token: 'abc' } })
      return () => target.send('POST', `/tools/${id}/call`, text)
    },
  },
  {
    name: 'input: as many fields as allowed, waiting for approval',
    prepare: async (target) => {
      const id = await newTool(target, { auto_approve: false })
      const a = distinctFields()
      return () => target.send('POST', `/tools/${id}/call`, { wait: false, input: { a, token: 'abc' } })
    },
  },
  {
    name: 'input: 4 MB that waits for approval',
    prepare: async (target) => {
      const id = await newTool(target, { auto_approve: false })
      const text = JSON.stringify({ wait: false, input: { a: JSON.parse(nested(3_900_000)), token: 'abc' } })
      return () => target.send('POST', `/tools/${id}/call`, text)
    },
  },
  {
    name: 'input: 4 MB of fields for an http tool with placeholders',
    prepare: async (target) => {
      const id = await newTool(target, { execute: { url: `${target.upstream.url}/{a}`, method: 'GET' } })
      const input = Object.fromEntries(many(200_000, (i) => [`k${i}`, 'x']))
      return () => target.send('POST', `/tools/${id}/call`, { input: { a: 'x', ...input } })
    },
  },

  answered('6 MB of nested arrays', () => nested(6_000_000)),
  answered('9 MB of nested arrays with a token', () => `{"token":"abc","a":${nested(9_000_000)}}`),
  answered(
    '9 MB of small objects with a token',
    () => `{"token":"abc","a":[${many(2_900_000, () => '{}').join(',')}]}`,
  ),
  answered('as many small objects as allowed, with a token', () =>
    JSON.stringify({ token: 'abc', a: many(80_000, (i) => ({ x: i })) }),
  ),
  answered('as many nested lists as allowed, with a token', () => `{"token":"abc","a":${nested(240_000)}}`),
  answered('as many fields as allowed, with a token', () =>
    JSON.stringify({
      token: 'abc',
      a: distinctFields(),
    }),
  ),
  answered('9 MB of text', () => JSON.stringify('a b '.repeat(2_250_000))),
  answered('9 MB of near-secrets', () => JSON.stringify('Bearer    sk_sk_'.repeat(550_000))),
  {
    name: 'answer: 9 MB, and a tool of 300 secret headers',
    prepare: async (target) => {
      const headers = Object.fromEntries(many(300, (i) => [`x-key-${i}`, `secret-value-${i}`]))
      const created = await target.send('POST', '/tools', {
        name: 'headers',
        parameters: { type: 'object' },
        execute: { url: `${target.upstream.url}/`, headers },
      })
      target.upstream.answer = JSON.stringify('secret-valu'.repeat(800_000))
      return async () =>
        created.status < 300 ? target.send('POST', `/tools/${created.body.id}/call`, { input: {} }) : created
    },
  },

  offered('5,000 tools', () => many(5000, (i) => ({ name: `tool_${i}`, inputSchema: { type: 'object' } }))),
  offered('one tool with a definition of 9 MB', () => [{ name: 'large', inputSchema: { ...wide(9_000_000) } }]),
  offered(
    '5,000 tools whose names come out alike, in one server',
    () =>
      many(5000, (i) => ({
        name: `a${[...i.toString(8).padStart(5, '0')].map((digit) => '!@#$%^&*'[Number(digit)]).join('')}`,
        inputSchema: { type: 'object' },
      })),
    async (_, { send }) => {
      required(await send('POST', '/servers', { slug: 'alike' }))
      return send('POST', '/mcp/alike', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
    },
  ),
  offered(
    'search for actions with 100 long requests',
    () =>
      many(3000, (i) => ({
        name: `tool_${i}`,
        description: many(40, (n) => `word${(i * 7 + n) % 900}`).join(' '),
        inputSchema: { type: 'object', properties: Object.fromEntries(many(5, (n) => [`field_${n}_${i}`, {}])) },
      })),
    async (_, { send }) => {
      const { id } = required(await send('POST', '/servers', { slug: 'search' }))
      await send('POST', `/servers/${id}/resolve`, { integration_query: ['x'] })
      const query = many(100, (q) =>
        many(600, (n) => `word${(q + n) % 900}`)
          .join(' ')
          .slice(0, 3990),
      )
      return send('POST', `/servers/${id}/resolve`, { integration_query: query, limit: 50 })
    },
  ),
  offered(
    'a server with 5,000 misspelt actions',
    () => many(1000, (i) => ({ name: `${'x'.repeat(40)}_tool_number_${i}`, inputSchema: { type: 'object' } })),
    async (id, { send }) => {
      required(await send('GET', `/tools/${id}/actions?limit=1`))
      const actions = many(5000, (i) => `${'x'.repeat(40)}_toll_nummer_${i}`)
      return send('POST', '/servers', { slug: 'misspelt', apps: [{ slug: 'upstream', actions }] })
    },
  ),

  request('body: 4 MB of unknown fields', 'POST', '/tools', () =>
    Object.fromEntries(many(300_000, (i) => [`k${i}`, 1])),
  ),
  request('body: 9,999 unknown fields', 'POST', '/tools', () => Object.fromEntries(many(9990, (i) => [`k${i}`, 1]))),
  request('body: 9,900 wrong headers', 'POST', '/tools', () => ({
    name: 'a',
    execute: { url: 'https://example.com', headers: Object.fromEntries(many(9900, (i) => [`h ${i}`, 'x'])) },
  })),
  request('body: 9,900 servers to import', 'POST', '/tools/import', () => ({
    mcpServers: Object.fromEntries(many(9900, (i) => [`s${i}`, { url: `https://example.com/${i}` }])),
  })),
  request('body: 9,900 skills to import', 'POST', '/skills/import', () => ({
    files: Object.fromEntries(many(9900, (i) => [`${i}/SKILL.md`, `---\nname: s${i}\ndescription: d\n---\nx`])),
  })),
  request('body: a list of 1.9 million wrong items', 'POST', '/tools', () => ({
    name: 'a',
    actions: many(1_900_000, () => 1),
  })),
  request('body: 200,000 headers', 'POST', '/tools', () => ({
    name: 'a',
    execute: { url: 'https://example.com', headers: Object.fromEntries(many(200_000, (i) => [`h ${i}`, 'x'])) },
  })),
  request('body: 200,000 tags', 'POST', '/documents', () => ({
    path: '/a',
    content: 'x',
    tags: Object.fromEntries(many(200_000, (i) => [`t${i}`, 'x'])),
  })),
  request('body: 1.9 million wrong messages', 'POST', '/agents/agt_x/generate', () => ({
    messages: many(1_900_000, () => 1),
  })),
  request('body: 300,000 servers to import', 'POST', '/tools/import', () => ({
    mcpServers: Object.fromEntries(many(300_000, (i) => [`s${i}`, {}])),
  })),
  request('body: 50,000 real servers to import', 'POST', '/tools/import', () => ({
    mcpServers: Object.fromEntries(many(50_000, (i) => [`s${i}`, { url: `https://example.com/${i}` }])),
  })),
  request('body: 40,000 skills to import', 'POST', '/skills/import', () => ({
    files: Object.fromEntries(many(40_000, (i) => [`${i}/SKILL.md`, `---\nname: s${i}\ndescription: d\n---\nx`])),
  })),
  request('body: a skill with 3 MB of front matter', 'POST', '/skills/import', () => ({
    files: { 'a/SKILL.md': `---\nname: a\n${many(150_000, (i) => `key${i}: [a, b]`).join('\n')}\n---\nx` },
  })),
  request('body: a skill with 3 MB of Markdown', 'POST', '/skills', () => ({
    name: 'a',
    summary: 'a',
    content: '# a\n'.repeat(800_000),
  })),
  request('body: a policy with 100 statements of 200', 'POST', '/access-policies', () => ({
    name: 'p',
    document: {
      statement: many(100, () => ({
        effect: 'Allow',
        action: many(200, () => 'tools:GetTool'),
        resource: many(200, (i) => `qm:*:tool:${i}`),
      })),
    },
  })),
  {
    name: 'body: a condition of 4 MB of wildcards, and a request that it applies to',
    prepare: async ({ send }) => {
      const policy = {
        name: 'p',
        document: {
          statement: [
            {
              effect: 'Allow',
              action: ['*'],
              resource: ['*'],
              condition: { StringLike: { 'qm:ResourceTag/a': many(35_000, (i) => `*a*a*a*a*${'a'.repeat(80)}b${i}`) } },
            },
          ],
        },
      }
      const { id } = required(await send('POST', '/access-policies', policy))
      const key = required(await send('POST', '/api-keys', { name: 'k', access_policy_ids: [id] })).key
      const tags = Object.fromEntries([['a', 'a'.repeat(250)]])
      return () => send('POST', '/documents', { path: '/a', content: 'x', tags }, key)
    },
  },
  request('body: a document of 3.9 MB', 'POST', '/documents', () => ({
    path: '/a',
    content: many(500_000, (i) => `w${i % 50_000}`).join(' '),
  })),
  {
    name: 'body: a search in 20 documents of 3.9 MB',
    prepare: async ({ send }) => {
      const content = many(500_000, (i) => `w${i % 500}`).join(' ')
      for (let n = 0; n < 20; n++) required(await send('POST', '/documents', { path: `/d${n}`, content }))
      return () => send('POST', '/documents/search', { query: many(50, (i) => `w${i}`).join(' '), limit: 100 })
    },
  },
  {
    name: 'replay: patterns on a long prompt',
    prepare: async (target) => {
      const steps = many(50, (i) => ({ when: { last_user: { matches: `(a|b)*a(a|b){300}${i}` } }, answer: 'x' }))
      return replay(target, { steps }, letters(800_000))
    },
  },
  {
    name: 'replay: 50,000 placeholders into a long prompt',
    prepare: async (target) => {
      const steps = [{ answer: { text: '{{last_user.a.b}}'.repeat(50_000) } }]
      return replay(target, { steps }, JSON.stringify({ a: many(60_000, (i) => `x${i}`) }))
    },
  },
  {
    name: 'replay: a prompt repeated 50,000 times',
    prepare: async (target) => {
      const steps = [{ answer: { text: '{{last_user}}'.repeat(50_000) } }]
      return replay(target, { steps }, 'x'.repeat(9000))
    },
  },
  request('replay: 190 KB of YAML', 'POST', '/ai-providers', () => ({
    name: 'a',
    type: 'replay',
    script: `steps:\n${many(7000, (i) => ` - answer: "text ${i}"`).join('\n')}`,
  })),
  request('replay: a script with 100,000 faults', 'POST', '/ai-providers', () => ({
    name: 'a',
    type: 'replay',
    script: { steps: many(100_000, () => ({ answr: 'x', b: 1 })) },
  })),
]

async function replay(target: Target, script: Json, prompt: string): Promise<() => Promise<Answer>> {
  const provider = required(await target.send('POST', '/ai-providers', { name: 'replay', type: 'replay', script }))
  const agent = required(
    await target.send('POST', '/agents', { name: 'a', ai_provider_id: provider.id, model: 'replay' }),
  )
  return () => target.send('POST', `/agents/${agent.id}/generate`, { prompt })
}
