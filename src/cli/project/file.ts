import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseEnv } from 'node:util'
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml'
import { didYouMean, unquoted } from '../../lib/nearest.ts'
import { yamlValue } from '../../lib/yaml-value.ts'
import { UsageError } from '../toolkit/command.ts'
import { io } from '../toolkit/io.ts'
import { type Fields, kinds } from './kinds.ts'

/** A problem in the file. */
export interface Fault {
  readonly line: number
  readonly column?: number
  readonly message: string
}

export interface Project {
  readonly path: string
  /** The entries by section and name, with variables replaced. */
  readonly sections: ReadonlyMap<string, ReadonlyMap<string, Fields>>
  /** Variables in the file that are not set. */
  readonly unset: readonly string[]
  readonly faults: readonly Fault[]
  lineOf(path: readonly (string | number)[]): number
  /** The place of a character in the text at a path. Only the line if the text is not written in one piece. */
  placeOf(path: readonly (string | number)[], at: number): Pick<Fault, 'line' | 'column'>
}

const maxLength = 4_000_000

/** Reads a project file. Collects all problems, so that they can be reported at once. */
export async function readProject(path: string): Promise<Project> {
  const content = path === '-' ? await text(io().stdin) : await load(path)
  if (content.length > maxLength) throw new UsageError(`${path} is larger than 4 MB.`)
  const lines = new LineCounter()
  const document = parseDocument(content, { lineCounter: lines, prettyErrors: false })
  const lineAt = (offset: number) => lines.linePos(offset).line
  const faults: Fault[] = document.errors.map(({ message, pos }) => ({ line: lineAt(pos[0]), message }))
  const lineOf = (place: readonly (string | number)[]) => lineAt(offsetOf(document, place))
  const placeOf: Project['placeOf'] = (place, at) => {
    const offset = textOffset(document.getIn(place.map(asKey), true), content)
    if (offset === undefined) return { line: lineOf(place) }
    const { line, col } = lines.linePos(offset + at)
    return { line, column: col }
  }
  const none = { path, sections: new Map(), unset: [], lineOf, placeOf }
  if (faults.length > 0) return { ...none, faults }
  const environment = { ...(path === '-' ? {} : await variablesOf(path)), ...io().env }
  const unset = new Set<string>()
  const read = yamlValue(document)
  if (read.fault !== undefined) return { ...none, faults: [{ line: 1, message: read.fault }] }
  const value = substitute(read.value, environment, unset)
  if (!isObject(value))
    return { ...none, faults: [{ line: 1, message: 'The file must contain sections such as "tools:".' }] }
  return { path, sections: sectionsOf(value, lineOf, faults), unset: [...unset], faults, lineOf, placeOf }
}

const load = (path: string) =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const hint = error.code === 'ENOENT' ? ' Create a project file with "quartermaster init".' : ''
    throw new UsageError(`Cannot read ${path} (${error.code}).${hint}`)
  })

/** The .env file next to the project file. The environment takes precedence. */
const variablesOf = async (path: string): Promise<Record<string, string | undefined>> =>
  parseEnv(await readFile(join(dirname(path), '.env'), 'utf8').catch(() => ''))

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Replaces `${NAME}` with the variable. `$${NAME}` is a literal `${NAME}`. */
function substitute(value: unknown, environment: Record<string, string | undefined>, unset: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((one) => substitute(one, environment, unset))
  if (isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, substitute(one, environment, unset)]))
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
      const hint = didYouMean(section, known, unquoted) || ` Sections: ${known.join(', ')}.`
      faults.push({ line: lineOf([section]), message: `${section} is not a section.${hint}` })
    } else if (entries !== null && !isObject(entries)) {
      faults.push({ line: lineOf([section]), message: `${section} must contain names, each with its fields below it` })
    } else sections.set(section, entriesOf(section, entries ?? {}, lineOf, faults))
  }
  return sections
}

function entriesOf(section: string, entries: Fields, lineOf: Project['lineOf'], faults: Fault[]): Map<string, Fields> {
  const result = new Map<string, Fields>()
  for (const [name, fields] of Object.entries(entries)) {
    if (fields === null || isObject(fields)) result.set(name, fields ?? {})
    else faults.push({ line: lineOf([section, name]), message: `${section}.${name} must contain fields` })
  }
  return result
}

/** Indexes of lists are numbers. */
const asKey = (part: string | number) => (typeof part === 'string' && /^\d+$/.test(part) ? Number(part) : part)

/** Where the characters of a text start, if they are written as they are. */
function textOffset(node: unknown, content: string): number | undefined {
  if (!isScalar(node) || typeof node.value !== 'string' || !node.range) return undefined
  const [start, end] = node.range
  const from = node.type === 'PLAIN' ? start : start + 1
  return content.slice(from, end).startsWith(node.value) ? from : undefined
}

/** The offset of the deepest part of a path that exists. For an entry, that of its name. */
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
