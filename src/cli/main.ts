import { isOperatorMistake, up } from './up.ts'

const [command, ...rest] = process.argv.slice(2)

try {
  if (command === 'up') process.exitCode = await up(rest)
  else {
    console.error('quartermaster up')
    process.exitCode = 2
  }
} catch (error) {
  console.error(isOperatorMistake(error) ? `quartermaster: ${error.message}` : error)
  process.exitCode = 1
}
