import { createHash } from 'node:crypto'
import { isObject, type Json } from './json.ts'

/** The same JSON has the same text, in whatever order its fields stand. */
export const canonical = (value: Json): string => written('', value)

/** Onto one text, because what is nested would be copied once for each level. */
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
