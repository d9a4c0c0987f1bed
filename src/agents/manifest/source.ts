import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml'
import type { z } from 'zod'
import { orDidYouMean } from '../../lib/nearest.ts'
import { yamlValue } from '../../lib/yaml-value.ts'

/** A problem in a manifest, and where it is. */
export interface ManifestFault {
  readonly line: number
  readonly column: number
  readonly path: string
  readonly message: string
}

export type Path = readonly (string | number)[]

export interface Source {
  readonly value: unknown
  faultAt(path: Path, message: string): ManifestFault
  readonly faults: readonly ManifestFault[]
}

const longest = 2_000_000

/** Parses YAML, and remembers where everything is. */
export function readSource(text: string): Source {
  const lines = new LineCounter()
  const at = (offset: number, path: string, message: string): ManifestFault => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(line, 1), column: Math.max(col, 1), path, message }
  }
  const none = (faults: ManifestFault[]): Source => ({
    value: undefined,
    faults,
    faultAt: (path, message) => at(0, pathText(path), message),
  })
  if (text.length > longest) return none([at(0, '', 'is larger than 2 MB')])
  // The library's own check for duplicate keys is quadratic.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  const broken = document.errors.map(({ message, pos }) => at(pos[0], '', message.split('\n')[0] ?? ''))
  const faults = [...broken, ...duplicates(document, at)]
  if (faults.length > 0) return none(faults)
  const { value, fault } = yamlValue(document)
  if (fault !== undefined) return none([at(0, '', fault)])
  const faultAt = (path: Path, message: string) => at(offsetOf(document, path), pathText(path), message)
  return { value, faults, faultAt }
}

function duplicates(document: Document, at: (offset: number, path: string, message: string) => ManifestFault) {
  const faults: ManifestFault[] = []
  visit(document, (_, node) => {
    if (!isMap(node)) return
    const seen = new Set<unknown>()
    for (const { key } of node.items) {
      if (!isScalar(key)) continue
      if (seen.has(key.value)) faults.push(at(key.range?.[0] ?? 0, String(key.value), 'is there twice'))
      seen.add(key.value)
    }
  })
  return faults
}

export const pathText = (path: Path): string =>
  path.reduce<string>(
    (before, part) => (typeof part === 'number' ? `${before}[${part}]` : before === '' ? part : `${before}.${part}`),
    '',
  )

/** The offset of the deepest part of a path that exists. */
function offsetOf(document: Document, path: Path): number {
  let node: unknown = document.contents
  let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0
  for (const [at, part] of path.entries()) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part))
      if (!pair) break
      offset = (isScalar(pair.key) && pair.key.range?.[0]) || offset
      node = pair.value
    } else {
      const next = document.getIn(path.slice(0, at + 1), true)
      if (!isNode(next)) break
      offset = next.range?.[0] ?? offset
      node = next
    }
  }
  return offset
}

/** The faults that the schema finds, with suggestions for unknown fields and options. */
export function schemaFaults(source: Source, schema: z.ZodType, error: z.ZodError): ManifestFault[] {
  return error.issues.flatMap((issue) => faultsOf(source, schema, issue, []))
}

function faultsOf(source: Source, schema: z.ZodType, issue: z.core.$ZodIssue, above: Path): ManifestFault[] {
  const path = [...above, ...(issue.path as (string | number)[])]
  switch (issue.code) {
    case 'unrecognized_keys': {
      const known = keysAt(schema, path)
      return issue.keys.map((key) =>
        source.faultAt([...path, key], `is not a known field${orDidYouMean(key, known) || listed(known)}`),
      )
    }
    case 'invalid_union': {
      // The branch that got furthest explains most.
      const [best] = [...issue.errors].sort((a, b) => depth(b) - depth(a))
      return (best ?? []).flatMap((inner) => faultsOf(source, schema, inner, path))
    }
    case 'invalid_value': {
      const options = issue.values.map(String)
      if (!issue.message.startsWith('Invalid')) return [source.faultAt(path, issue.message)]
      return [source.faultAt(path, `must be ${options.length > 1 ? 'one of ' : ''}${options.join(', ')}`)]
    }
    case 'invalid_type': {
      const isMissing = issue.input === undefined && /received undefined/.test(issue.message)
      const message = issue.message.replace(
        /^Invalid input: expected (\w+), received (\w+)$/,
        'must be of type $1, not $2',
      )
      return [source.faultAt(path, isMissing ? 'is missing' : message)]
    }
    default:
      return [
        source.faultAt(
          path,
          issue.message.replace(/^Too (small|big)/, (start) => start.toLowerCase()),
        ),
      ]
  }
}

const depth = (issues: readonly z.core.$ZodIssue[]) => Math.max(0, ...issues.map(({ path }) => path.length))

const listed = (known: readonly string[]) => (known.length > 0 ? `: it can be ${known.join(', ')}` : '')

interface Definition {
  readonly type: string
  readonly shape?: Record<string, Inner>
  readonly element?: Inner
  readonly innerType?: Inner
  readonly in?: Inner
  readonly out?: Inner
  readonly options?: readonly Inner[]
}
type Inner = { readonly _zod: { readonly def: unknown } }

/** The fields that the schema has at a path. */
function keysAt(schema: z.ZodType, path: Path): string[] {
  let current: Inner | undefined = schema
  for (const part of [...path, undefined]) {
    const plain: Definition | undefined = current && unwrapped(current)
    if (part === undefined) return Object.keys(plain?.shape ?? {})
    current = typeof part === 'number' ? plain?.element : plain?.shape?.[part]
  }
  return []
}

function unwrapped(schema: Inner): Definition {
  const definition = schema._zod.def as Definition
  if (definition.innerType) return unwrapped(definition.innerType)
  if (definition.type === 'pipe' && definition.out) return unwrapped(definition.out)
  if (definition.options) {
    const list = definition.options.find((one) => (one._zod.def as Definition).type === 'array')
    return list ? unwrapped(list) : definition
  }
  return definition
}
