import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../src/config.ts'
import { createPlatform, type Platform, type PlatformOptions } from '../src/main.ts'

export const adminKey = 'sk_admin_of_the_tests'

// biome-ignore lint/suspicious/noExplicitAny: tests read responses field by field, and a wrong field name fails the test
export interface Answer<T = any> {
  readonly status: number
  readonly headers: Headers
  readonly body: T
}

/** A platform in this process, on an empty database. Requests go through its HTTP surface, without a port. */
export interface TestPlatform extends AsyncDisposable {
  readonly platform: Platform
  /** The id of the project that exists from the start. */
  readonly projectId: string
  request(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<Answer>
  get(path: string, options?: RequestOptions): Promise<Answer>
  post(path: string, body?: unknown, options?: RequestOptions): Promise<Answer>
  patch(path: string, body?: unknown, options?: RequestOptions): Promise<Answer>
  delete(path: string, options?: RequestOptions): Promise<Answer>
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Creates a key with these statements as its only access policy, and returns its value. */
  keyFor(statement: unknown[], options?: { project_id?: string | null; [field: string]: unknown }): Promise<string>
}

export interface RequestOptions {
  readonly key?: string | null
  readonly headers?: Record<string, string>
}

/** Copies a migrated database into a data folder, so that its first start is fast. Does nothing outside of a test run. */
export async function copyTables(data: string): Promise<void> {
  const template = process.env.TEST_SQLITE_TEMPLATE
  if (!template) return
  await mkdir(data, { recursive: true })
  await copyFile(template, join(data, 'quartermaster.db'))
}

export async function startPlatform(
  environment: Record<string, string> = {},
  options: PlatformOptions = {},
): Promise<TestPlatform> {
  const data = await mkdtemp(join(tmpdir(), 'quartermaster-'))
  await copyTables(data)
  const platform = await createPlatform(
    readConfig(
      {},
      {
        QM_DATA: data,
        QM_ADMIN_KEY: adminKey,
        QM_LOG_LEVEL: 'error',
        QM_EMBEDDINGS: 'off',
        ...environment,
      },
    ),
    options,
  )
  const fetch = async (path: string, init: RequestInit = {}) =>
    platform.fetch(new Request(`http://platform.test${path}`, init))

  const request = async (
    method: string,
    path: string,
    body?: unknown,
    options: RequestOptions = {},
  ): Promise<Answer> => {
    const { key = adminKey, headers = {} } = options
    const response = await fetch(path.startsWith('/api/') ? path : `/api/v1${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, body: text !== '' && isJson ? JSON.parse(text) : text }
  }

  const projects = await request('GET', '/projects')
  return {
    platform,
    projectId: projects.body.data[0].id,
    fetch,
    request,
    get: (path, options) => request('GET', path, undefined, options),
    post: (path, body, options) => request('POST', path, body, options),
    patch: (path, body, options) => request('PATCH', path, body, options),
    delete: (path, options) => request('DELETE', path, undefined, options),

    async keyFor(statement, options = {}) {
      const { project_id = null, ...rest } = options
      const policy = await request('POST', '/access-policies', {
        name: 'of a test',
        project_id,
        document: { statement },
      })
      const key = await request('POST', '/api-keys', {
        name: 'of a test',
        project_id,
        access_policy_ids: [policy.body.id],
        ...rest,
      })
      if (!key.body.key) throw new Error(`no key: ${JSON.stringify(key.body)}`)
      return key.body.key
    },

    async [Symbol.asyncDispose]() {
      await platform.close()
      await rm(data, { recursive: true, force: true })
    },
  }
}

/** Sends a request with the admin key to a platform in another process. */
export async function ask<T>({ url }: { url: string }, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  return (response.status === 204 ? undefined : await response.json()) as T
}

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A service on loopback for http tools to call. It records the requests it receives. */
export interface Service extends AsyncDisposable {
  readonly url: string
  readonly received: Received[]
}

type Reply = { status?: number; headers?: Record<string, string>; body?: string | Buffer } | undefined

/** Returns `{"ok":true}` unless `reply` returns something else. */
export async function startService(
  reply: (request: Received) => Reply | Promise<Reply> = () => undefined,
): Promise<Service> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const one = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(parts).toString(),
    }
    received.push(one)
    const {
      status = 200,
      headers = { 'content-type': 'application/json' },
      body = '{"ok":true}',
    } = (await reply(one)) ?? {}
    response.writeHead(status, headers).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
