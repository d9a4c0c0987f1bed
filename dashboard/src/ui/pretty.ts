const width = 90
/** Further in than this, a line is a line. */
const deepest = 40
/** Beyond this, how it looks matters less than how long it takes. */
const most = 60_000

/** JSON for people: what fits on a line stays on one. */
export function pretty(value: unknown): string {
  const flat = JSON.stringify(value)
  if (flat === undefined) return 'null'
  return flat.length > most ? JSON.stringify(value, null, 2) : lines(value, '')
}

function lines(value: unknown, indent: string): string {
  const flat = onOneLine(value)
  const isShort = flat.length + indent.length <= width
  if (typeof value !== 'object' || value === null || isShort || indent.length > deepest) return flat
  const inner = `${indent}  `
  const parts = Array.isArray(value)
    ? value.map((item) => inner + lines(item, inner))
    : Object.entries(value).map(([key, item]) => `${inner}${JSON.stringify(key)}: ${lines(item, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${parts.join(',\n')}\n${indent}${close}`
}

function onOneLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`
  const parts = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${onOneLine(item)}`)
  return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`
}
