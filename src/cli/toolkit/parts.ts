import { type Command, type Described, type Field, type FlagValues, type Reading, UsageError } from './command.ts'

/** A flag for a part of an object: `--execute.url`, `--execute.headers.X-Api-Key`. */
export interface PartFlag extends Field {
  /** As it is written on the command line, without the dashes. */
  readonly flag: string
  /** The keys that lead to it, from the field of the request on. */
  readonly path: readonly string[]
}

/** The flags for the known parts of a command's objects. Parts of the objects in a list have none. */
export const partFlags = ({ fields }: Command): PartFlag[] =>
  fields.flatMap(({ parts = [], where }) =>
    parts
      // The alternatives of a field may have parts of the same name.
      .filter(({ name }, at) => !name.includes('[]') && parts.findIndex((one) => one.name === name) === at)
      .map((part) => ({
        ...part,
        where,
        required: false,
        reads: readingOf(part.type),
        flag: part.name.replaceAll('_', '-'),
        path: part.name.split('.'),
      })),
  )

/** The same, and those that the arguments add to objects with any keys, such as headers. */
export function partFlagsIn(command: Command, args: readonly string[]): PartFlag[] {
  const known = partFlags(command)
  const written = args.flatMap((arg) => /^--([\w-]+\.[\w.-]+)(?:=|$)/.exec(arg)?.[1] ?? [])
  const added = [...new Set(written)].flatMap((flag) => freePart(command, known, flag) ?? [])
  return [...known, ...added]
}

function freePart({ fields }: Command, known: readonly PartFlag[], flag: string): PartFlag | undefined {
  const owners = [
    ...known,
    ...fields.map((field) => ({ ...field, flag: field.name.replaceAll('_', '-'), path: [field.name] })),
  ].filter((one) => isOpen(one) && !known.some(({ path }) => path.length > 1 && startsWith(path, one.path)))
  const owner = owners.find((one) => dashed(flag).startsWith(`${one.flag}.`))
  if (!owner) return undefined
  const rest = flag.slice(owner.flag.length + 1)
  const path = [...owner.path, ...(owner.texts ? [rest] : rest.split('.'))]
  const [type, reads] = owner.texts ? (['string', 'text'] as const) : (['any', 'JSON or text'] as const)
  return { name: path.join('.'), type, reads, where: owner.where, flag, path }
}

const dashed = (name: string) => name.replaceAll('_', '-')

const isOpen = ({ type }: Described): boolean => type.split(' | ').includes('object')

const startsWith = (path: readonly string[], start: readonly string[]): boolean =>
  path.length > start.length && start.every((key, at) => key === path[at])

/** How a value is parsed, from the name of its type. */
function readingOf(type: string): Reading {
  const types = type.split(' | ')
  const isText = (one: string) => one === 'string' || one.startsWith('"')
  if (types.every(isText)) return 'text'
  if (types.every((one) => isText(one) || one === 'null')) return 'text or null'
  if (types.includes('boolean')) return 'flag'
  if (/^(string|\(".*\))\[\]/.test(type)) return 'list'
  return types.some((one) => isText(one) || one === 'any') ? 'JSON or text' : 'JSON'
}

type Values = Readonly<Record<string, unknown>>

/** Sets the parts that were given on top of the objects of the request. */
export function withParts(
  values: Values,
  parts: readonly PartFlag[],
  given: FlagValues,
  read: (field: Field, flag: string, texts: readonly string[]) => unknown,
): Values {
  return parts.reduce<Values>((all, part) => {
    const texts = given.get(part.flag)
    return texts ? setIn(all, part.path, read(part, part.flag, texts), part.flag) : all
  }, values)
}

function setIn(values: Values, [key = '', ...rest]: readonly string[], value: unknown, flag: string): Values {
  if (rest.length === 0) return { ...values, [key]: value }
  const inner = Object.hasOwn(values, key) ? values[key] : {}
  if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) {
    throw new UsageError(`--${flag} cannot be set: "${key}" is given with another value.`)
  }
  return { ...values, [key]: setIn(inner as Values, rest, value, flag) }
}
