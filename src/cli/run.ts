import { createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type { ApiError } from '../sdk/outcome.ts'
import { type Connection, send } from '../sdk/send.ts'
import type { ServerEvent } from '../sdk/streams.ts'
import { type Command, UsageError } from './command.ts'
import type { Given } from './flags.ts'
import { requestOf } from './request.ts'

const defaultUrl = 'http://127.0.0.1:4600'

/** Exit codes: the platform did it; it answered an error; it could not be reached. Wrong usage is 2. */
const ok = 0
const refused = 1
const unreachable = 3

/** Asks the platform for one operation and prints what it answers. Resolves with the exit code. */
export async function run(command: Command, given: Given, version: string): Promise<number> {
  const request = await requestOf(command, given)
  const connection = connectionOf(command, given)
  const { data, error, response } = await send(connection, command, {
    ...request,
    ...(command.accepts && { body: await openUpload(given) }),
    headers: {
      ...request.headers,
      'user-agent': `quartermaster-cli/${version}`,
      'x-quartermaster-surface': 'cli',
    },
  })
  if (error) return report(error, connection)
  try {
    if (command.answers === 'bytes') await save(data as ReadableStream<Uint8Array>, given.get('output')?.[0])
    else if (command.answers === 'events') return await watch(data as AsyncIterable<ServerEvent<unknown>>, connection)
    else if (response.status !== 204) print(data)
    return ok
  } catch (broken) {
    if (broken instanceof UsageError) throw broken
    return report({ code: 'NETWORK', message: `The answer broke off: ${(broken as Error).message}.` }, connection)
  }
}

export function connectionOf({ fields }: Pick<Command, 'fields'>, given: Given): Connection {
  // A field of the same name has the flag; then the environment is left to say it.
  const common = (name: string) => (fields.some((field) => field.name === name) ? undefined : given.get(name)?.[0])
  const baseUrl = common('url') ?? (process.env.QM_URL || defaultUrl)
  const token = (common('key') ?? process.env.QM_KEY ?? '').trim()
  if (!/^https?:\/\/[^/]/.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new UsageError(`--url or QM_URL must be an address like ${defaultUrl}.`)
  }
  if (token === '') throw new UsageError('An API key is needed: give it with --key or QM_KEY.')
  // fetch would refuse it in words that repeat the key.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError('The API key has a character that no key has.')
  return { baseUrl, token }
}

export function report({ code, message }: Pick<ApiError, 'code' | 'message'>, { baseUrl }: Connection): number {
  const away = code === 'NETWORK'
  console.error(`quartermaster: ${code}: ${message}`)
  if (away) {
    console.error(
      `Is it running at ${new URL(baseUrl).origin}?`,
      '"quartermaster up" starts it; --url or QM_URL names another.',
    )
  }
  return away ? unreachable : refused
}

/** For people on a terminal, for programs otherwise. */
function print(data: unknown): void {
  console.log(process.stdout.isTTY ? JSON.stringify(data, null, 2) : JSON.stringify(data))
}

async function watch(events: AsyncIterable<ServerEvent<unknown>>, connection: Connection): Promise<number> {
  for await (const event of events) console.log(JSON.stringify(event))
  return report({ code: 'NETWORK', message: 'The platform ended the stream.' }, connection)
}

async function openUpload(given: Given): Promise<globalThis.ReadableStream<Uint8Array>> {
  const path = given.get('file')?.[0]
  if (path === undefined) throw new UsageError('--file is missing: it names what to send, or - for standard input.')
  if (path === '-') return Readable.toWeb(process.stdin) as globalThis.ReadableStream<Uint8Array>
  const handle = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`--file: cannot read ${path} (${error.code}).`)
  })
  if ((await handle.stat()).isDirectory()) throw new UsageError(`--file: ${path} is a folder.`)
  return Readable.toWeb(handle.createReadStream()) as globalThis.ReadableStream<Uint8Array>
}

async function save(bytes: ReadableStream<Uint8Array>, path: string | undefined): Promise<void> {
  const from = Readable.fromWeb(bytes)
  if (path === undefined) return pipeline(from, process.stdout, { end: false })
  await pipeline(from, createWriteStream(path)).catch((error: NodeJS.ErrnoException) => {
    // A fault with a system call is of the disk, not of the network.
    throw error.syscall ? new UsageError(`--output: cannot write ${path} (${error.code}).`) : error
  })
}
