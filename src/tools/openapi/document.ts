import { upgrade } from '@scalar/openapi-upgrader'
import { parseDocument } from 'yaml'
import { isObject, isTooDeep, type Json, type JsonObject } from '../../lib/json.ts'

/** The document cannot be imported. `place` is a JSON pointer or a line, if the fault has one. */
export class DocumentFault extends Error {
  readonly place: string | undefined

  constructor(message: string, place?: string) {
    super(message)
    this.place = place
  }
}

/** An OpenAPI document in version 3.1, whatever version it was written in. */
export interface ApiDocument {
  readonly root: JsonObject
  /** The version it was written in. */
  readonly version: string
}

/** Deeper than any real document, and shallow enough for the recursive functions that read it. */
const maxDepth = 400

/** Parses JSON or YAML. */
export const parseText = (text: string): Json => parse(text.replace(/^\uFEFF/, ''))

/** Parses a document, and upgrades Swagger 2.0 and OpenAPI 3.0 to 3.1. Takes seconds for large documents. */
export const readDocument = (text: string): ApiDocument => upgraded(parseText(text))

export function upgraded(value: Json): ApiDocument {
  if (!isObject(value)) throw new DocumentFault('is not an OpenAPI document: it must be an object')
  const version = versionOf(value)
  if (value.paths !== undefined && !isObject(value.paths)) throw new DocumentFault('must be an object', '/paths')
  try {
    return { root: upgrade(value, '3.1') as unknown as JsonObject, version }
  } catch (error) {
    if (error instanceof RangeError) throw new DocumentFault('is nested too deeply')
    throw new DocumentFault(`could not be upgraded to OpenAPI 3.1: ${(error as Error).message}`)
  }
}

function versionOf({ swagger, openapi }: JsonObject): string {
  const version = String(openapi ?? swagger ?? '')
  if (swagger !== undefined && version.startsWith('2')) return '2.0'
  if (/^3\.[01](\.|$)/.test(version)) return version
  if (version === '') {
    throw new DocumentFault('is not an OpenAPI document: it has neither an "openapi" nor a "swagger" field')
  }
  throw new DocumentFault(`has the version ${version.slice(0, 40)}. Supported are 2.0, 3.0 and 3.1`, '/openapi')
}

function parse(text: string): Json {
  if (/^\s*[[{]/.test(text)) {
    if (isTooDeep(text, maxDepth)) throw new DocumentFault(`is nested more than ${maxDepth} deep`)
    try {
      return JSON.parse(text)
    } catch (error) {
      // YAML may start with a brace, too. If it is neither, the fault of the JSON is the useful one.
      const found = text.length < 1_000_000 ? tryYaml(text) : undefined
      if (isObject(found)) return found
      throw new DocumentFault(`is not valid JSON: ${(error as Error).message}`)
    }
  }
  if (/^\s*<(!doctype\s+html|html|head|body)\b/i.test(text)) {
    throw new DocumentFault('is an HTML page, not an OpenAPI document. Use the URL of its JSON or YAML file')
  }
  return parseYaml(text)
}

function tryYaml(text: string): Json | undefined {
  try {
    return parseYaml(text)
  } catch {
    return undefined
  }
}

/** Aliases are copied, so that a change in one place does not affect another. Their number is limited by the parser. */
function parseYaml(text: string): Json {
  const document = parseDocument(text, { uniqueKeys: false, strict: false, logLevel: 'error' })
  const [fault] = document.errors
  if (fault) {
    const line = fault.linePos?.[0].line
    throw new DocumentFault(
      `is not valid YAML: ${fault.message.split('\n')[0]?.replace(/( at line \d+, column \d+)?:?$/, '')}`,
      line ? `line ${line}` : undefined,
    )
  }
  try {
    const printed = JSON.stringify(document.toJS({ maxAliasCount: 1000 }))
    if (printed === undefined) throw new DocumentFault('is empty')
    if (isTooDeep(printed, maxDepth)) throw new DocumentFault(`is nested more than ${maxDepth} deep`)
    return JSON.parse(printed)
  } catch (error) {
    if (error instanceof DocumentFault) throw error
    if (error instanceof RangeError) throw new DocumentFault('is nested too deeply, or too large')
    throw new DocumentFault(`is not valid YAML: ${(error as Error).message}`)
  }
}
