import type { Command, Field, Flag, FlagValues } from './command.ts'
import { parseArguments } from './parse.ts'
import { type PartFlag, partFlags, partFlagsIn } from './parts.ts'

/** For every command that connects to a platform. */
export const platformFlags: readonly Flag[] = [
  {
    name: 'url',
    value: 'url',
    help: 'Address of the platform. Default: QM_URL, the profile, or http://127.0.0.1:4600.',
  },
  { name: 'key', value: 'sk_…', help: 'API key. Default: QM_KEY, or the profile.' },
  { name: 'profile', value: 'name', help: 'Profile to use. Default: QM_PROFILE, or the current profile.' },
]

export const helpFlag: Flag = { name: 'help', short: 'h', help: 'Show help' }

/** For every command. */
export const outputFlags: readonly Flag[] = [
  { name: 'json', help: 'Print JSON, also on a terminal' },
  { name: 'no-color', help: 'Print without colors, like NO_COLOR=1' },
  helpFlag,
]

/** The flags that may also come before the command. */
export const globalFlags: readonly Flag[] = [...platformFlags, ...outputFlags]

/** The flags of a generated command that are not fields of its operation. A field of the same name takes precedence. */
export function commonFlags({ fields, accepts, answers, route }: Command): Flag[] {
  const flags: Flag[] = [
    ...(fields.some(({ where }) => where === 'body')
      ? [{ name: 'body', value: 'json', help: 'The whole request body. Other flags override its fields.' }]
      : []),
    ...(accepts === 'bytes' ? [{ name: 'file', value: 'path', help: 'File to upload, or - for standard input' }] : []),
    ...(answers === 'bytes'
      ? [{ name: 'output', value: 'path', help: 'File to write. Default: standard output.' }]
      : []),
    ...(route.startsWith('POST ')
      ? [
          {
            name: 'idempotency-key',
            value: 'text',
            help: 'Makes retries safe: the same key returns the first response',
          },
        ]
      : []),
    ...platformFlags,
    ...(answers ? [] : [{ name: 'field', value: 'name', help: 'Print only this field of the response, such as id' }]),
    ...outputFlags,
  ]
  return flags.filter(({ name }) => !fields.some((field) => flagOf(field) === name))
}

/** `project_id` as `project-id`. */
export const flagOf = ({ name }: Pick<Field, 'name'>): string => name.replaceAll('_', '-')

/** All flags of a generated command, with those for parts of objects. */
export const flagsOf = (command: Command, parts: readonly PartFlag[] = partFlags(command)): Flag[] => [
  ...command.fields.map((field) => flagFor(flagOf(field), field)),
  ...parts.map((part) => flagFor(part.flag, part)),
  ...commonFlags(command),
]

const flagFor = (name: string, field: Field): Flag => ({
  name,
  value: field.type,
  help: field.description ?? '',
  optional: field.reads === 'flag',
  repeats: field.reads === 'list' || keyOfItems(field) !== undefined,
})

/** The key that names the objects in a list, if each needs only that one: `slug` of the apps of a server. */
export function keyOfItems({ name, type, parts = [] }: Field): string | undefined {
  if (!type.split(' | ').includes('object[]')) return undefined
  const required = parts.filter((part) => part.required && part.name.lastIndexOf('[]') === name.length)
  const key = required.length === 1 && required[0]?.type === 'string' ? required[0].name.slice(name.length + 3) : ''
  return ['slug', 'id', 'name'].includes(key) ? key : undefined
}

/** The values that a field may have, from its type: `"a" | "b"`. */
export const choicesIn = ({ type }: Pick<Field, 'type'>): string[] =>
  [...type.matchAll(/"([^"]+)"/g)].map(([, choice = '']) => choice)

/** Parses the arguments of a generated command. */
export const readFlags = (command: Command, args: readonly string[]): FlagValues =>
  parseArguments(flagsOf(command, partFlagsIn(command, args)), args, {
    most: 0,
    hint: ' Give values with flags: --name value.',
  }).given
