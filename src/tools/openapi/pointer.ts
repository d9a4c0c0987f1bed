import { isObject, type Json, type JsonObject } from '../../lib/json.ts'

const decoded = (segment: string): string => {
  const text = segment.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The segments of a local reference such as `#/components/schemas/Pet`; undefined for any other reference. */
export const segmentsOf = (reference: string): string[] | undefined =>
  reference.startsWith('#/') ? reference.slice(2).split('/').map(decoded) : reference === '#' ? [] : undefined

/** The value that a local reference points to. */
export function findAt(root: JsonObject, reference: string): Json | undefined {
  let value: Json | undefined = root
  for (const segment of segmentsOf(reference) ?? ['']) {
    if (Array.isArray(value)) value = value[Number(segment)]
    else if (isObject(value) && Object.hasOwn(value, segment)) value = value[segment]
    else return undefined
  }
  return value
}

const longestChain = 20

/** Follows references until there is an object without one; undefined if there is none. */
export function followed(root: JsonObject, value: Json | undefined): JsonObject | undefined {
  let current = value
  for (let steps = 0; isObject(current) && typeof current.$ref === 'string'; steps++) {
    if (steps === longestChain) return undefined
    current = findAt(root, current.$ref)
  }
  return isObject(current) ? current : undefined
}
