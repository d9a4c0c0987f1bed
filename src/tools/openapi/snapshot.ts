import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { zstdCompressSync, zstdDecompress } from 'node:zlib'
import type { JsonObject } from '../../lib/json.ts'
import type { ApiOperation, ApiSnapshot } from './operation.ts'

/**
 * A snapshot as bytes: compressed lines of JSON. The first line has the facts about the document, then there is a line for
 * each definition and for each operation. Lines are parsed in time slices, so reading a large snapshot blocks nobody.
 */
export interface EncodedSnapshot {
  readonly hash: string
  readonly bytes: Uint8Array
}

type SnapshotHeader = Omit<ApiSnapshot, 'operations' | 'defs'> & { readonly definitions: number }

export function encodeSnapshot({ operations, defs, ...facts }: ApiSnapshot): EncodedSnapshot {
  const lines = [
    JSON.stringify({ ...facts, definitions: defs.size } satisfies SnapshotHeader),
    ...[...defs].map(([name, schema]) => `${JSON.stringify(name)}\t${JSON.stringify(schema)}`),
    ...operations.map((one) => JSON.stringify(one)),
  ]
  const text = lines.join('\n')
  return { hash: createHash('sha256').update(text).digest('hex'), bytes: zstdCompressSync(text) }
}

const decompress = promisify(zstdDecompress)

/** No import makes more. Protects the memory from a damaged row. */
const largestText = 512 * 1024 * 1024
const sliceMs = 5

export async function decodeSnapshot(bytes: Uint8Array): Promise<ApiSnapshot> {
  const text = await decompress(bytes, { maxOutputLength: largestText })
  const lines = linesOf(text)
  const { definitions, ...facts } = JSON.parse(lines.next().value ?? '') as SnapshotHeader
  const defs = new Definitions()
  const operations: ApiOperation[] = []
  let until = performance.now() + sliceMs
  for (const line of lines) {
    if (defs.size < definitions) defs.add(line)
    else operations.push(JSON.parse(line))
    if (performance.now() < until) continue
    await setImmediate()
    until = performance.now() + sliceMs
  }
  return { ...facts, operations, defs }
}

function* linesOf(bytes: Buffer): Generator<string, undefined> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(10, start)
    const stop = end < 0 ? bytes.length : end
    yield bytes.toString('utf8', start, stop)
    start = stop + 1
  }
}

/** Definitions are parsed on first use: a tool that offers ten operations needs few of them. */
class Definitions extends Map<string, JsonObject> {
  readonly #texts = new Map<string, string>()

  add(line: string): void {
    const cut = line.indexOf('\t')
    this.#texts.set(JSON.parse(line.slice(0, cut)), line.slice(cut + 1))
  }

  override get size(): number {
    return this.#texts?.size ?? 0
  }

  override get(name: string): JsonObject | undefined {
    const known = super.get(name)
    const text = known ? undefined : this.#texts.get(name)
    if (text === undefined) return known
    const parsed = JSON.parse(text) as JsonObject
    this.set(name, parsed)
    return parsed
  }
}
