import { createHash } from 'node:crypto'
import { isObject, type Json } from './json.ts'

/** Canonical JSON: equal values have equal text, regardless of the order of their fields. */
export const canonical = (value: Json): string => written('', value)

/** Appends to one string, because nested values would otherwise be copied once per level. */
function written(text: string, value: Json): string {
  if (Array.isArray(value)) {
    let list = `${text}[`
    for (let index = 0; index < value.length; index++) {
      list = written(index === 0 ? list : `${list},`, value[index] as Json)
    }
    return `${list}]`
  }
  if (!isObject(value)) return text + JSON.stringify(value)
  let fields = `${text}{`
  for (const [index, key] of Object.keys(value).sort().entries()) {
    fields = written(`${fields}${index === 0 ? '' : ','}${JSON.stringify(key)}:`, value[key] as Json)
  }
  return `${fields}}`
}

export const hashOfText = (text: string): string => createHash('sha256').update(text).digest('hex')

export const hashOf = (value: Json): string => hashOfText(canonical(value))
