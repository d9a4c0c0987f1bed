import { propertiesOf, resolved, type Shape, shapeOf, typeOf } from '../../expressions/shapes.ts'
import type { Place, PlacedFault, Template } from '../../expressions/template.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { orDidYouMean } from '../../lib/nearest.ts'

/** What is known about the result of an expression. */
export type ShapeOfPlace = (place: Place) => Shape | undefined

/** Compares the arguments of a call with the schema of its action: unknown, missing, and of another type. */
export const checkArguments = (
  { value, places }: Template,
  shapeAt: ShapeOfPlace,
  schema: JsonObject,
  path: string,
): PlacedFault[] => compare(value, shapeOf(schema), path, places, shapeAt)

function compare(
  value: Json,
  wanted: Shape,
  path: string,
  places: readonly Place[],
  shapeAt: ShapeOfPlace,
): PlacedFault[] {
  const target = resolved(wanted)
  if (!target) return []
  const type = typeOf(target)
  const place = typeof value === 'string' ? places.find((one) => one.path === path) : undefined
  const given = place?.isWhole ? typeOf(shapeAt(place)) : place ? 'string' : typeOfJson(value)
  if (type !== undefined && given !== undefined && !fits(given, type)) {
    const what = place?.isWhole ? `"${place.text}" is` : 'it is'
    return [{ path, message: `must be of type ${type}, but ${what} of type ${given}`, at: place?.at }]
  }
  if (!isObject(value)) return []
  const known = propertiesOf(target)
  const required = Array.isArray(target.schema.required) ? target.schema.required.map(String) : []
  const missing = required.filter((name) => !Object.hasOwn(value, name))
  return [
    ...missing.map((name) => ({ path: `${path}.${name}`, message: 'is missing: the action needs it' })),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const property = known?.get(name)
      if (property) return compare(inner, property, `${path}.${name}`, places, shapeAt)
      if (!known) return []
      const message = `is not an argument of the action${orDidYouMean(name, [...known.keys()])}`
      return [{ path: `${path}.${name}`, message }]
    }),
  ]
}

const fits = (given: string, wanted: string): boolean =>
  given === wanted || (wanted === 'number' && given === 'integer') || (wanted === 'integer' && given === 'number')

function typeOfJson(value: Json): string | undefined {
  if (value === null) return undefined
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}
