import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { startReplayServer } from '../../agents/models/replay-server.ts'
import { PlatformError } from '../../model/errors.ts'
import { type Runner, UsageError } from '../toolkit/command.ts'
import { toldToStop } from '../toolkit/stop.ts'

/** Serves a script as a model until it is told to stop. Resolves with the exit code. */
export const run: Runner = async (args) => {
  const { file, port } = readArgs(args)
  const told = toldToStop()
  const script = file === '-' ? await text(process.stdin) : await read(file)
  const server = await start(script, file, port)
  console.log(
    [
      `A model that answers as ${file === '-' ? 'the script' : file} says is at ${server.url}`,
      `  openai, openai-compatible  --base-url ${server.url}/v1`,
      `  anthropic                  --base-url ${server.url}/v1`,
      `  google                     --base-url ${server.url}/v1beta`,
      '  Any key will do.',
    ].join('\n'),
  )
  await told
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
        [`${file} is not a script:`, ...errors.map(({ path, message }) => `  ${path}: ${message}`)].join('\n'),
      )
    }
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(code === 'EADDRINUSE' ? `Port ${port} is taken. Choose another with --port.` : message)
  }
}

function readArgs(args: readonly string[]): { file: string; port: number } {
  let parsed: { values: { port?: string | undefined }; positionals: string[] }
  try {
    parsed = parseArgs({ args: [...args], options: { port: { type: 'string' } }, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
  const [file, ...more] = parsed.positionals
  if (file === undefined) throw new UsageError('The script is missing.')
  if (more.length > 0) throw new UsageError('Only one script can be played.')
  const port = Number(parsed.values.port ?? 4610)
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw new UsageError('--port must be a number up to 65535.')
  return { file, port }
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read ${file} (${error.code}).`)
  })
}
