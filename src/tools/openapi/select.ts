import { isObject, type Json } from '../../lib/json.ts'
import { listField, listIn } from '../../lib/json-list.ts'

/**
 * Keeps only these fields, such as `id` or `user.name`. They apply to each item of a list, also of a list within an object,
 * whose other fields stay. Undefined if nothing matches.
 */
export function select(value: Json, paths: readonly string[]): Json | undefined {
  const wanted = paths.map((path) => path.split('.').filter((part) => part !== ''))
  const direct = pick(value, wanted)
  if (direct !== undefined || !isObject(value)) return direct
  const field = listField(value)
  const items = field === undefined ? undefined : pick(value[field] as Json, wanted)
  return field === undefined || items === undefined ? undefined : { ...value, [field]: items }
}

function pick(value: Json, paths: readonly (readonly string[])[]): Json | undefined {
  if (paths.some((path) => path.length === 0)) return value
  if (Array.isArray(value)) {
    const items = value.flatMap((item) => pick(item, paths) ?? [])
    return items.length > 0 || value.length === 0 ? items : undefined
  }
  if (!isObject(value)) return undefined
  const byField = Map.groupBy(paths, ([first = '']) => first)
  const fields = [...byField].flatMap(([field, inner]): [string, Json][] => {
    const found = Object.hasOwn(value, field)
      ? pick(
          value[field] as Json,
          inner.map((path) => path.slice(1)),
        )
      : undefined
    return found === undefined ? [] : [[field, found]]
  })
  return fields.length > 0 ? Object.fromEntries(fields) : undefined
}

/** The names that could have been selected. */
export function selectable(value: Json): string[] {
  const [first] = listIn(value) ?? [value]
  return isObject(first) ? Object.keys(first).slice(0, 50) : []
}
