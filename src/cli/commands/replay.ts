import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { startReplayServer } from '../../agents/models/replay-server.ts'
import { PlatformError } from '../../model/errors.ts'
import { type Invocation, type Runner, UsageError } from '../toolkit/command.ts'
import { io, say } from '../toolkit/io.ts'
import { readArguments, textOf } from '../toolkit/parse.ts'
import { untilStopped } from '../toolkit/stop.ts'

/** Serves the script until the process is stopped. */
export const run: Runner = async (invocation) => {
  const { file, port } = readArgs(invocation)
  const stopped = untilStopped()
  const script = file === '-' ? await text(io().stdin) : await read(file)
  const server = await start(script, file, port)
  say(
    [
      `Serving ${file === '-' ? 'the script' : file} as a language model at ${server.url}`,
      `  openai, openai-compatible  --base-url ${server.url}/v1`,
      `  anthropic                  --base-url ${server.url}/v1`,
      `  google                     --base-url ${server.url}/v1beta`,
      '  Any API key works.',
    ].join('\n'),
  )
  await stopped
  await server.close()
  return 0
}

async function start(script: string, file: string, port: number) {
  try {
    return await startReplayServer(script, { port })
  } catch (error) {
    if (error instanceof PlatformError && error.code === 'VALIDATION_FAILED') {
      const { errors } = (error as PlatformError<'VALIDATION_FAILED'>).details
      throw new UsageError(
        [`${file} is not a valid script:`, ...errors.map(({ path, message }) => `  ${path}: ${message}`)].join('\n'),
      )
    }
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(code === 'EADDRINUSE' ? `Port ${port} is in use. Choose another one with --port.` : message)
  }
}

function readArgs(invocation: Invocation): { file: string; port: number } {
  const read = readArguments(invocation, 1)
  const [file] = read.words
  if (file === undefined) throw new UsageError('The script is missing.')
  const port = Number(textOf(read, 'port') ?? 4610)
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new UsageError('--port must be a number from 0 to 65535.')
  }
  return { file, port }
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`Cannot read ${file} (${error.code}).`)
  })
}
