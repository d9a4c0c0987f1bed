import { type Command, exit, type FlagValues } from './command.ts'
import { flagOf } from './flags.ts'
import { say } from './io.ts'
import { isForPeople, oneLine } from './terminal.ts'

const abbreviations: Readonly<Record<string, string>> = { api: 'API', ai: 'AI', oauth: 'OAuth', mcp: 'MCP' }

/** Says on a terminal what an operation without a response did: `Deleted tool get-weather.` Programs get no output. */
export function printDone(command: Command, given: FlagValues, json: boolean): number {
  if (isForPeople(json)) say(doneText(command, given))
  return exit.ok
}

const pastTense: Readonly<Record<string, string>> = { delete: 'Deleted', revoke: 'Revoked' }

function doneText({ name, fields }: Command, given: FlagValues): string {
  const [verb = '', ...words] = name.split('-')
  const done = pastTense[verb]
  if (done === undefined) return 'Done.'
  const noun = words.map((word) => abbreviations[word] ?? word)
  const ids = fields.filter(({ where }) => where === 'path').flatMap((field) => given.get(flagOf(field)) ?? [])
  return `${[done, ...noun, ...ids.slice(-1).map(oneLine)].join(' ')}.`
}
