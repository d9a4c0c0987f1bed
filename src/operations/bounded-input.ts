import type { z } from 'zod'
import { isObject } from '../lib/json.ts'
import type { Fault } from '../model/errors.ts'

/**
 * The most values that a schema may validate one by one. Values accepted unchecked, such as a call's arguments, do not
 * count.
 */
const most = 20_000
/** The longest JSON text that a schema may parse. */
const longestText = 1_000_000

type Definition = {
  readonly type: string
  readonly shape?: Readonly<Record<string, z.ZodType>>
  readonly element?: z.ZodType
  readonly valueType?: z.ZodType
  readonly innerType?: z.ZodType
  readonly in?: z.ZodType
  readonly out?: z.ZodType
  readonly options?: readonly z.ZodType[]
}

/**
 * Rejects an input with so many values that validating each of them, and reporting every issue, would block the event
 * loop. Zod does not stop at the first issue.
 */
export function findExcess(schema: z.ZodType, input: unknown): Fault | undefined {
  let left = most
  let excess: Fault | undefined

  const visit = (part: z.ZodType | undefined, value: unknown, path: string): void => {
    if (!part || excess) return
    if (--left < 0) excess = { path, message: `has more than ${most} values` }
    const {
      type,
      shape,
      element,
      valueType,
      innerType,
      in: from,
      out,
      options,
    } = part._zod.def as unknown as Definition
    if (type === 'pipe') {
      const isText = typeof value === 'string' && value.length > longestText
      if (isText && !isFree(out)) excess = { path, message: `is more than ${longestText} characters of JSON` }
      visit(from, value, path)
      visit(out, value, path)
    } else if (innerType) visit(innerType, value, path)
    else if (options && !options.some(isFree)) for (const option of options) visit(option, value, path)
    else if (element && Array.isArray(value)) for (const one of value) visit(element, one, path)
    else if (valueType && isObject(value)) for (const key in value) visit(valueType, value[key], path)
    else if (shape && isObject(value)) {
      for (const key in value) {
        if (Object.hasOwn(shape, key)) visit(shape[key], value[key], path === '' ? key : path)
        else left--
      }
    }
  }

  visit(schema, input, '')
  return excess
}

/** Whether the schema accepts any value unchecked. */
function isFree(part: z.ZodType | undefined): boolean {
  const { type, innerType, out } = (part?._zod.def ?? { type: 'custom' }) as unknown as Definition
  if (innerType) return isFree(innerType)
  if (type === 'pipe') return isFree(out)
  return type === 'custom' || type === 'any' || type === 'unknown'
}
