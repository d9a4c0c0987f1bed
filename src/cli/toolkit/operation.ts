import { createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { send } from '../../sdk/send.ts'
import type { ServerEvent } from '../../sdk/streams.ts'
import { type Command, exit, type FlagValues, UsageError } from './command.ts'
import { connectionOf, Refused, report } from './connection.ts'
import { printDone } from './done.ts'
import { flagOf } from './flags.ts'
import { io, say } from './io.ts'
import { isSet } from './parse.ts'
import { listColumns, print, printField } from './print.ts'
import { requestOf } from './request.ts'
import { noteIfAllSkipped } from './skipped.ts'
import { withProgress } from './terminal.ts'

const isImport = /^import-/

/** Sends one operation to the platform and prints the response. Resolves with the exit code. */
export async function runOperation(command: Command, given: FlagValues, globals: FlagValues): Promise<number> {
  const common = commonOf(command, given, globals)
  const request = await requestOf(command, given)
  const connection = await connectionOf(common)
  const sent = send(connection, command, {
    ...request,
    ...(command.accepts && { body: await openUpload(common) }),
  })
  const { data, error, response } = await withProgress(`${command.summary} …`, sent)
  if (error) return report(error, connection.baseUrl)
  try {
    if (command.answers === 'bytes') await save(data as ReadableStream<Uint8Array>, common.get('output')?.[0])
    else if (command.answers === 'events') await watch(data as AsyncIterable<ServerEvent<unknown>>)
    else if (response.status === 204) return printDone(command, given, isSet(common, 'json'))
    else {
      const field = common.get('field')?.[0]
      if (field !== undefined) return printField(data, field)
      // A tool's output has no known fields, so it is never shown as a table.
      const json = isSet(common, 'json') || command.name === 'call-tool'
      print(data, { json, columns: listColumns[command.name] })
      if (isImport.test(command.name)) noteIfAllSkipped(data)
    }
    return exit.ok
  } catch (broken) {
    if (broken instanceof UsageError) throw broken
    const message =
      broken instanceof Refused ? broken.message : `The response was cut off: ${(broken as Error).message}.`
    return report({ code: 'NETWORK', message }, connection.baseUrl)
  }
}

/** The flags that are not fields of the operation. `--url` after `create-webhook` is the webhook's, before it the platform's. */
function commonOf({ fields }: Command, given: FlagValues, globals: FlagValues): FlagValues {
  const own = [...given].filter(([name]) => !fields.some((field) => flagOf(field) === name))
  const twice = own.find(([name]) => globals.has(name))
  if (twice) throw new UsageError(`--${twice[0]} is given twice.`)
  return new Map([...own, ...globals])
}

async function watch(events: AsyncIterable<ServerEvent<unknown>>): Promise<never> {
  for await (const event of events) say(JSON.stringify(event))
  throw new Refused({ code: 'NETWORK', message: 'The platform ended the stream.' })
}

async function openUpload(given: FlagValues): Promise<globalThis.ReadableStream<Uint8Array>> {
  const path = given.get('file')?.[0]
  if (path === undefined) throw new UsageError('--file is missing: the file to upload, or - for standard input.')
  if (path === '-') return Readable.toWeb(io().stdin) as globalThis.ReadableStream<Uint8Array>
  const handle = await open(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`--file: cannot read ${path} (${error.code}).`)
  })
  if ((await handle.stat()).isDirectory()) {
    await handle.close()
    throw new UsageError(`--file: ${path} is a folder.`)
  }
  return Readable.toWeb(handle.createReadStream()) as globalThis.ReadableStream<Uint8Array>
}

async function save(bytes: ReadableStream<Uint8Array>, path: string | undefined): Promise<void> {
  const from = Readable.fromWeb(bytes)
  if (path === undefined) return pipeline(from, io().stdout, { end: false })
  await pipeline(from, createWriteStream(path)).catch((error: NodeJS.ErrnoException) => {
    // An error with a system call comes from the disk, not from the network.
    throw error.syscall ? new UsageError(`--output: cannot write ${path} (${error.code}).`) : error
  })
}
