import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseEnv } from 'node:util'
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml'
import { didYouMean, unquoted } from '../../lib/nearest.ts'
import { UsageError } from '../toolkit/command.ts'
import { type Fields, kinds } from './kinds.ts'

/** Something wrong in the file, and where. */
export interface Fault {
  readonly line: number
  readonly message: string
}

export interface Project {
  readonly path: string
  /** What is declared, by section and name, with variables filled in. */
  readonly sections: ReadonlyMap<string, ReadonlyMap<string, Fields>>
  /** Variables that the file names and nobody has set. */
  readonly unset: readonly string[]
  readonly faults: readonly Fault[]
  lineOf(path: readonly (string | number)[]): number
}

const mostBytes = 4_000_000

/** Reads a project file. What is wrong with it is collected, so that all of it can be said at once. */
export async function readProject(path: string): Promise<Project> {
  const content = path === '-' ? await text(process.stdin) : await load(path)
  if (content.length > mostBytes) throw new UsageError(`${path} is too large: at most 4 MB.`)
  const lines = new LineCounter()
  const document = parseDocument(content, { lineCounter: lines, prettyErrors: false })
  const lineAt = (offset: number) => lines.linePos(offset).line
  const faults: Fault[] = document.errors.map(({ message, pos }) => ({ line: lineAt(pos[0]), message }))
  const lineOf = (place: readonly (string | number)[]) => lineAt(offsetOf(document, place))
  const none = { path, sections: new Map(), unset: [], lineOf }
  if (faults.length > 0) return { ...none, faults }
  const environment = { ...(path === '-' ? {} : await variablesBeside(path)), ...process.env }
  const unset = new Set<string>()
  const value = filled(document.toJS({ maxAliasCount: 100 }), environment, unset)
  if (!isObject(value))
    return { ...none, faults: [{ line: 1, message: 'The file must hold sections such as "tools:".' }] }
  return { path, sections: sectionsOf(value, lineOf, faults), unset: [...unset], faults, lineOf }
}

const load = (path: string) =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const hint = error.code === 'ENOENT' ? ' "quartermaster init" writes one.' : ''
    throw new UsageError(`cannot read ${path} (${error.code}).${hint}`)
  })

/** A .env file beside it gives variables that the environment does not. */
const variablesBeside = async (path: string): Promise<Record<string, string | undefined>> =>
  parseEnv(await readFile(join(dirname(path), '.env'), 'utf8').catch(() => ''))

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `${NAME}` stands for a variable, and `$${NAME}` for itself. */
function filled(value: unknown, environment: Record<string, string | undefined>, unset: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((one) => filled(one, environment, unset))
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, environment, unset)]))
  }
  if (typeof value !== 'string') return value
  return value.replaceAll(/(\$?)\$\{([A-Z_][A-Z0-9_]*)\}/g, (whole, escaped: string, name: string) => {
    if (escaped) return whole.slice(1)
    const found = environment[name]
    if (!found) unset.add(name)
    return found || `$${name}`
  })
}

function sectionsOf(value: Fields, lineOf: Project['lineOf'], faults: Fault[]): Map<string, Map<string, Fields>> {
  const sections = new Map<string, Map<string, Fields>>()
  const known = kinds.map(({ section }) => section)
  for (const [section, entries] of Object.entries(value)) {
    if (!known.includes(section)) {
      const hint = didYouMean(section, known, unquoted) || ` There are ${known.join(', ')}.`
      faults.push({ line: lineOf([section]), message: `${section} is not a section.${hint}` })
    } else if (entries !== null && !isObject(entries)) {
      faults.push({ line: lineOf([section]), message: `${section} must hold names, each with its fields below it` })
    } else sections.set(section, entriesOf(section, entries ?? {}, lineOf, faults))
  }
  return sections
}

function entriesOf(section: string, entries: Fields, lineOf: Project['lineOf'], faults: Fault[]): Map<string, Fields> {
  const result = new Map<string, Fields>()
  for (const [name, fields] of Object.entries(entries)) {
    if (fields === null || isObject(fields)) result.set(name, fields ?? {})
    else faults.push({ line: lineOf([section, name]), message: `${section}.${name} must hold fields` })
  }
  return result
}

/** Where the last part of a path that is there begins: of an entry, where its name stands. */
function offsetOf(document: Document, place: readonly (string | number)[]): number {
  let node: unknown = document.contents
  let offset = 0
  for (const [at, part] of place.entries()) {
    if (!isNode(node)) break
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part))
      if (!pair) break
      offset = (isScalar(pair.key) && pair.key.range?.[0]) || offset
      node = pair.value
    } else {
      const next = document.getIn(place.slice(0, at + 1), true)
      if (!isNode(next)) break
      offset = next.range?.[0] ?? offset
      node = next
    }
  }
  return offset
}
