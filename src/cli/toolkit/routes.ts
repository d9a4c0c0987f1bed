import { commands } from '../generated.ts'
import type { Command } from './command.ts'

const named = /\b(GET|POST|PUT|PATCH|DELETE) (?:\/api\/v1)?(\/[\w{}/-]+)/g

/** Replaces the routes in a message by commands: `POST /secrets` by `quartermaster create-secret`. */
export const withCommands = (message: string): string =>
  message.replaceAll(named, (written: string, method: string, path: string) => commandFor(method, path) ?? written)

function commandFor(method: string, path: string): string | undefined {
  const segments = path.split('/')
  const found = commands
    .filter(({ route }) => fits(route, method, segments))
    // `/connections/link` is also `/connections/{connection_id}`.
    .sort((a, b) => a.route.split('{').length - b.route.split('{').length)[0]
  return found && [`quartermaster ${found.name}`, ...flagsOf(found, segments)].join(' ')
}

function fits(route: string, method: string, segments: readonly string[]): boolean {
  const [itsMethod, itsPath = ''] = route.split(' ')
  const own = itsPath.split('/')
  const matches = (one: string, at: number) => one.startsWith('{') || one === segments[at]
  return itsMethod === method && own.length === segments.length && own.every(matches)
}

/** The ids in the path as flags. */
const flagsOf = ({ route }: Command, segments: readonly string[]): string[] =>
  (route.split(' ')[1] ?? '').split('/').flatMap((one, at) => {
    if (!one.startsWith('{')) return []
    const id = segments[at] ?? ''
    return [`--${one.slice(1, -1).replaceAll('_', '-')} ${id.startsWith('{') ? '…' : id}`]
  })
