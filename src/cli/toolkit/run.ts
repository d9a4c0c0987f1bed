import { createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { send } from '../../sdk/send.ts'
import type { ServerEvent } from '../../sdk/streams.ts'
import { type Command, exit, UsageError } from './command.ts'
import { connectionOf, Refused, report } from './connection.ts'
import { type Given, isSet } from './flags.ts'
import { listColumns, print, printField } from './print.ts'
import { requestOf } from './request.ts'
import { noteIfAllSkipped } from './skipped.ts'
import { withProgress } from './terminal.ts'

const isImport = /^import-/

/** Asks the platform for one operation and prints what it answers. Resolves with the exit code. */
export async function run(command: Command, given: Given): Promise<number> {
  const request = await requestOf(command, given)
  const connection = await connectionOf(command, given)
  const asked = send(connection, command, {
    ...request,
    ...(command.accepts && { body: await openUpload(given) }),
  })
  const { data, error, response } = await withProgress(`${command.summary} …`, asked)
  if (error) return report(error, connection.baseUrl)
  try {
    if (command.answers === 'bytes') await save(data as ReadableStream<Uint8Array>, given.get('output')?.[0])
    else if (command.answers === 'events') await watch(data as AsyncIterable<ServerEvent<unknown>>)
    else if (response.status !== 204) {
      const field = given.get('field')?.[0]
      if (field !== undefined) return printField(data, field)
      // What a tool answers is nobody's record: it is printed as it is.
      const json = isSet(given, 'json') || command.name === 'call-tool'
      print(data, { json, columns: listColumns[command.name] })
      if (isImport.test(command.name)) noteIfAllSkipped(data)
    }
    return exit.ok
  } catch (broken) {
    if (broken instanceof UsageError) throw broken
    const message = broken instanceof Refused ? broken.message : `The answer broke off: ${(broken as Error).message}.`
    return report({ code: 'NETWORK', message }, connection.baseUrl)
  }
}

async function watch(events: AsyncIterable<ServerEvent<unknown>>): Promise<never> {
  for await (const event of events) console.log(JSON.stringify(event))
  throw new Refused({ code: 'NETWORK', message: 'The platform ended the stream.' })
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
