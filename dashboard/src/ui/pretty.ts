const width = 90
/** Deeper levels are not broken into lines. */
const deepest = 40
/** Longer values use the faster built-in format. */
const maxLength = 60_000

/** Readable JSON: values that fit on one line stay on it. */
export function pretty(value: unknown): string {
  const flat = JSON.stringify(value)
  if (flat === undefined) return 'null'
  return flat.length > maxLength ? JSON.stringify(value, null, 2) : lines(value, '')
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
