import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { operations } from '../src/operations/index.ts'
import { inputSchema } from '../src/operations/json-schema.ts'
import { parametersOf, routeOf } from '../src/operations/operation.ts'
import { engines, freshDatabase } from './engines.ts'
import { adminKey, startPlatform } from './kit.ts'
import { soak } from './soak.ts'

/** Text that has broken software before. */
const nasty = fc.constantFrom(
  '',
  '\0',
  '\ud800',
  '\uffff',
  '__proto__',
  'constructor',
  '%00',
  '../../x',
  '`; drop table calls; --',
  '${{ secrets.X }}',
  'é'.repeat(300),
  '{}',
  '[',
  '1e999',
)

const text = fc.oneof(nasty, fc.string({ maxLength: 40, unit: 'binary' }), fc.string({ maxLength: 20 }))

/** A value for a field: usually valid by its schema, sometimes not. */
const near = (schema: { type?: unknown; enum?: unknown[]; anyOf?: object[] }): fc.Arbitrary<unknown> => {
  const right = schema.enum
    ? fc.constantFrom(...schema.enum)
    : schema.anyOf
      ? fc.oneof(...schema.anyOf.map((one) => near(one)))
      : schema.type === 'integer' || schema.type === 'number'
        ? fc.oneof(fc.integer({ min: 0, max: 20 }), fc.double(), fc.maxSafeInteger())
        : schema.type === 'object'
          ? fc.oneof(
              fc.dictionary(text, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }),
              fc.constant({ url: 'http://127.0.0.1:1/{a}', method: 'GET' }),
              fc.constant({ type: 'object' }),
            )
          : schema.type === 'array'
            ? fc.array(text, { maxLength: 4 })
            : schema.type === 'boolean'
              ? fc.boolean()
              : text
  return fc.oneof({ weight: 4, arbitrary: right }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) })
}

const bodyOf = (properties: Record<string, object>): fc.Arbitrary<unknown> => {
  const fields = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, near(schema)]))
  return fc.oneof(
    { weight: 8, arbitrary: fc.record(fields, { requiredKeys: [] }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.record(fields, { requiredKeys: [] }), fc.dictionary(text, fc.jsonValue()))
        .map(([known, more]) => ({ ...known, ...more })),
    },
    { weight: 1, arbitrary: fc.jsonValue() },
  )
}

const runs = soak ? 150 : 50

describe.each(engines)('on %s', (engine) => {
  test(`${runs} generated inputs for each of ${operations.length} operations cause no 5xx response`, {
    timeout: 240_000,
  }, async () => {
    await using database = await freshDatabase(engine)
    await using platform = await startPlatform({
      DATABASE_URL: database.options.databaseUrl ?? '',
      QM_LOG_LEVEL: 'silent',
      QM_RATE_LIMIT: '0',
    })
    const { id: toolId } = (
      await platform.post('/tools', { name: 'seed', type: 'platform', actions: ['list-documents', 'create-document'] })
    ).body
    const ids = fc.constantFrom(toolId, 'none', platform.projectId, 'pol_caller', 'doc_x', '%00', '%F0%9F', '\u2028')
    const failures: unknown[] = []

    for (const operation of operations.filter(({ answers }) => answers !== 'events')) {
      const { method, path } = routeOf(operation)
      const { id: _, ...properties } = inputSchema(operation).properties as Record<string, object>
      const own = parametersOf(path)[0]?.name
      const inBody = method === 'POST' || method === 'PATCH'

      const ask = async (input: unknown, id: string) => {
        const filled = own ? path.replace(`{${own}}`, id) : path
        const query = inBody
          ? ''
          : `?${new URLSearchParams(Object.entries(input ?? {}).map(([name, value]): [string, string] => [name, typeof value === 'string' ? value : JSON.stringify(value)]))}`
        const response = await platform.fetch(`/api/v1${filled}${query}`, {
          method,
          headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
          ...(inBody && { body: JSON.stringify(input) }),
          ...(method === 'PUT' && { body: JSON.stringify(input) }),
        })
        const answer = await response.text()
        // A failing tool is a 502 with a code that starts with TOOL_. Every other 5xx is a bug.
        if (response.status >= 500 && !answer.includes('TOOL_'))
          failures.push({ operation: operation.name, input, id, answer })
        if (response.status >= 400)
          expect(Object.keys(JSON.parse(answer).error)).toEqual(['code', 'message', 'details'])
        expect(answer).not.toMatch(/\n\s+at |node_modules|\.ts:\d/)
      }

      // Text that databases cannot store, in one field at a time. Random inputs would rarely be valid otherwise.
      for (const field of Object.keys(properties))
        for (const value of ['\0', '\ud800', ['\0'], { '\0': '\0' }]) await ask({ [field]: value }, toolId)

      await fc.assert(
        fc.asyncProperty(
          bodyOf(own ? properties : (inputSchema(operation).properties as Record<string, object>)),
          ids,
          ask,
        ),
        { numRuns: runs },
      )
    }

    expect(failures).toEqual([])
    expect((await platform.get('/tools')).status).toBe(200)
  })
})
