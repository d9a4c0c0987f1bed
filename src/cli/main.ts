import { run } from './run.ts'

// `quartermaster … | head` closes the pipe early. That is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
process.exitCode = await run(process.argv.slice(2), process)
