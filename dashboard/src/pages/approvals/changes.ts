export interface Change {
  /** `items[0].quantity`. */
  readonly path: string
  /** Undefined if it did not exist. */
  readonly before: unknown
  readonly after: unknown
}

const maxChanges = 200

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The differences between two values, by path. */
export function changesBetween(before: unknown, after: unknown): Change[] {
  const found: Change[] = []
  walk(before, after, '', found)
  return found
}

function walk(before: unknown, after: unknown, path: string, found: Change[]): void {
  if (found.length >= maxChanges || Object.is(before, after)) return
  if (isRecord(before) && isRecord(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const name = /^[\w-]+$/.test(key) ? key : JSON.stringify(key)
      walk(own(before, key), own(after, key), path === '' ? name : `${path}.${name}`, found)
    }
    return
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let index = 0; index < Math.max(before.length, after.length); index++) {
      walk(before[index], after[index], `${path}[${index}]`, found)
    }
    return
  }
  if (JSON.stringify(before) !== JSON.stringify(after)) found.push({ path, before, after })
}

const own = (record: Record<string, unknown>, key: string) => (Object.hasOwn(record, key) ? record[key] : undefined)

/** Shortens two long texts to where they differ, with some context. */
export function whereTheyDiffer(before: string, after: string, around = 40, longest = 400): [string, string] {
  if (before.length <= longest && after.length <= longest) return [before, after]
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before[start] === after[start]) start++
  let end = 0
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++
  const cut = (text: string) => {
    const from = Math.max(0, start - around)
    const to = Math.min(text.length, text.length - end + around)
    const middle = text.slice(from, to)
    const shown = middle.length > longest * 2 ? `${middle.slice(0, longest * 2)}…` : middle
    return `${from > 0 ? '…' : ''}${shown}${to < text.length ? '…' : ''}`
  }
  return [cut(before), cut(after)]
}
