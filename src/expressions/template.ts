import type { Meter } from '../json-schema/meter.ts'
import type { Json } from '../lib/json.ts'
import { isObject } from '../lib/json.ts'
import type { Fault } from '../model/errors.ts'
import { type Expression, InvalidExpression, type Language } from './language.ts'
import { toJson } from './to-json.ts'

/** A fault with its place in the text, in characters from the start of the text. */
export interface PlacedFault extends Fault {
  readonly at?: number | undefined
}

/** An expression of a template. */
export interface Place {
  /** The path of the value that contains it. */
  readonly path: string
  /** Where it starts in the text, in characters. */
  readonly at: number
  readonly text: string
  readonly expression: Expression
  /** Whether the value is this expression and nothing else, so that it keeps its type. */
  readonly isWhole: boolean
}

/** A JSON value whose texts can contain `${{ … }}`. */
export interface Template {
  readonly value: Json
  readonly places: readonly Place[]
  /** Undefined if the value is an empty optional, such as `${{ input.?note }}`. Throws `ExpressionFailed`. */
  evaluate(variables: Readonly<Record<string, unknown>>, budget: Meter): Json | undefined
}

export class ExpressionFailed extends Error {
  readonly path: string
  readonly expression: string

  constructor({ path, text }: Pick<Place, 'path' | 'text'>, cause: unknown) {
    super((cause as Error).message, { cause })
    this.path = path
    this.expression = text
  }
}

/** Compiles a template. Adds what is wrong with it to `faults`. */
export function templateOf(value: Json, path: string, language: Language, faults: PlacedFault[]): Template {
  if (typeof value === 'string') return textTemplate(value, path, language, faults)
  if (Array.isArray(value)) {
    const items = value.map((item, index) => templateOf(item, `${path}[${index}]`, language, faults))
    const places = items.flatMap((item) => item.places)
    return {
      value,
      places,
      evaluate: (variables, budget) =>
        places.length === 0 ? value : items.map((item) => item.evaluate(variables, budget) ?? null),
    }
  }
  if (!isObject(value)) return { value, places: [], evaluate: () => value }
  const fields = Object.entries(value).map(
    ([name, inner]) => [name, templateOf(inner, `${path}.${name}`, language, faults)] as const,
  )
  const places = fields.flatMap(([, field]) => field.places)
  return {
    value,
    places,
    evaluate: (variables, budget) =>
      places.length === 0
        ? value
        : Object.fromEntries(
            fields.flatMap(([name, field]) => {
              const inner = field.evaluate(variables, budget)
              return inner === undefined ? [] : [[name, inner] as const]
            }),
          ),
  }
}

/** An expression with or without `${{ }}` around it, for fields that are always expressions. */
export function expressionOf(
  text: string,
  path: string,
  language: Language,
  faults: PlacedFault[],
): Template | undefined {
  const [only, ...others] = piecesOf(text)
  if (only && others.length === 0 && only.kind === 'expression') return textTemplate(text, path, language, faults)
  const place = compiled({ at: 0, text }, path, true, language, faults)
  return place && { value: text, places: [place], evaluate: wholeOf(place) }
}

function textTemplate(value: string, path: string, language: Language, faults: PlacedFault[]): Template {
  const pieces = piecesOf(value)
  if (pieces.every(({ kind }) => kind === 'text')) return { value, places: [], evaluate: () => value }
  const isWhole = pieces.length === 1
  const parts = pieces.map((piece) => {
    if (piece.kind === 'text') return piece.text
    if (piece.kind === 'open') faults.push({ path, message: 'has "${{" without "}}"', at: piece.at })
    return piece.kind === 'open' ? undefined : compiled(piece, path, isWhole, language, faults)
  })
  const places = parts.filter((part) => part !== undefined && typeof part !== 'string')
  const [first] = places
  if (isWhole && first) return { value, places, evaluate: wholeOf(first) }
  return {
    value,
    places,
    evaluate: (variables, budget) =>
      parts
        .map((part) => (typeof part === 'object' ? asText(wholeOf(part)(variables, budget)) : (part ?? '')))
        .join(''),
  }
}

function compiled(
  { at, text }: { readonly at: number; readonly text: string },
  path: string,
  isWhole: boolean,
  language: Language,
  faults: PlacedFault[],
): Place | undefined {
  try {
    return { path, at, text: text.trim(), isWhole, expression: language.compile(text) }
  } catch (error) {
    if (!(error instanceof InvalidExpression)) throw error
    faults.push({
      path,
      message: `the expression "${short(text)}" is not valid: ${error.message}`,
      at: at + (error.at ?? 0),
    })
    return undefined
  }
}

const wholeOf =
  (place: Place): Template['evaluate'] =>
  (variables, budget) => {
    try {
      return toJson(place.expression.evaluate(variables, budget), budget)
    } catch (error) {
      throw new ExpressionFailed(place, error)
    }
  }

const asText = (value: Json | undefined): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value)

export const short = (text: string) => {
  const trimmed = text.trim()
  return trimmed.length > 100 ? `${trimmed.slice(0, 100).toWellFormed()}…` : trimmed
}

interface Piece {
  readonly kind: 'text' | 'expression' | 'open'
  readonly at: number
  readonly text: string
}

/** Splits a text at its expressions. `}}` inside quotes or braces of an expression does not end it. */
function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  for (;;) {
    const start = text.indexOf('${{', from)
    if (start < 0) break
    const end = endOf(text, start + 3)
    if (start > from) pieces.push({ kind: 'text', at: from, text: text.slice(from, start) })
    if (end === undefined) return [...pieces, { kind: 'open', at: start, text: '' }]
    pieces.push({ kind: 'expression', at: start + 3, text: text.slice(start + 3, end) })
    from = end + 2
  }
  if (from < text.length || pieces.length === 0) pieces.push({ kind: 'text', at: from, text: text.slice(from) })
  return pieces
}

function endOf(text: string, from: number): number | undefined {
  let depth = 0
  let quote: string | undefined
  for (let index = from; index < text.length; index++) {
    const character = text[index] as string
    if (quote !== undefined) {
      if (character === '\\') index++
      else if (character === quote) quote = undefined
    } else if (character === '"' || character === "'") quote = character
    else if (character === '{') depth++
    else if (character === '}' && depth > 0) depth--
    else if (character === '}' && text[index + 1] === '}') return index
  }
  return undefined
}
