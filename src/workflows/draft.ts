import { hidden } from '../credentials/redactor.ts'
import { canonical } from '../lib/canonical.ts'
import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import type { Call } from '../model/call.ts'
import { dataOf } from '../model/output-data.ts'
import type { Step, Workflow } from '../tools/workflow/definition.ts'

/** A recorded call, and the input schema of its action if it still exists. */
export interface Recorded {
  readonly call: Pick<Call, 'action' | 'request' | 'response' | 'created_at' | 'completed_at'>
  readonly schema: JsonObject | undefined
}

/**
 * A workflow that makes the same calls. Arguments that equal a value in an earlier output become expressions. Other
 * texts, numbers and lists become input, and all else stays as it is.
 */
export function draftOf(recorded: readonly Recorded[]): Workflow {
  const inputs = new Inputs()
  const done: { readonly id: string; readonly before: string; readonly values: ReadonlyMap<string, string> }[] = []
  const ids = new Names()
  const steps = recorded.map(({ call, schema }): Step => {
    const action = call.action ?? ''
    // A call that was made before another one had ended did not use its output.
    const known = done.filter(({ before }) => before <= call.created_at)
    const find = (value: Json) =>
      known.map(({ values }) => values.get(keyOf(value))).findLast((found) => found !== undefined)
    const input = rewritten(isObject(call.request) ? call.request : {}, schema, find, inputs)
    const id = ids.take(action.slice(action.indexOf(':') + 1))
    const values = new Map<string, string>()
    collect(outputOf(call.response), `steps.${id}.output`, values)
    done.push({ id, before: call.completed_at ?? '', values })
    return { id, call: action, input }
  })
  return { input: inputs.schema(), steps }
}

/** The record of an MCP tool has the envelope of MCP, which workflows do not see. */
function outputOf(response: Json): Json {
  const isEnvelope =
    isObject(response) &&
    Array.isArray(response.content) &&
    response.content.every((part) => isObject(part) && typeof part.type === 'string')
  return isEnvelope ? dataOf({ value: response, text: '', shape: 'mcp', failed: false }) : response
}

const keyOf = (value: Json): string => canonical(value)

/** Short numbers, empty texts and truth values are equal by accident. */
function isTelling(value: Json): boolean {
  if (typeof value === 'string') return value.length >= 2 && !value.includes(hidden)
  if (typeof value === 'number') return Math.abs(value) >= 10 || !Number.isInteger(value)
  return value !== null && typeof value === 'object' && Object.keys(value).length > 0
}

const maxDepth = 12
const maxValues = 5000

/** Notes where each value of an output is. The first place of a value counts. */
function collect(value: Json, path: string, found: Map<string, string>, depth = 0): void {
  if (depth > maxDepth || found.size > maxValues) return
  if (isTelling(value) && !found.has(keyOf(value))) found.set(keyOf(value), path)
  if (Array.isArray(value))
    for (const [index, inner] of value.entries()) collect(inner, `${path}[${index}]`, found, depth + 1)
  else if (isObject(value))
    for (const [name, inner] of Object.entries(value)) collect(inner, path + member(name), found, depth + 1)
}

const member = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`)

type Find = (value: Json) => string | undefined

function rewritten(input: JsonObject, schema: JsonObject | undefined, find: Find, inputs: Inputs): JsonObject {
  const properties = isObject(schema?.properties) ? schema.properties : {}
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      const property = properties[name]
      return [name, argument(name, value, isObject(property) ? property : undefined, find, inputs)]
    }),
  )
}

function argument(name: string, value: Json, schema: JsonObject | undefined, find: Find, inputs: Inputs): Json {
  const place = isTelling(value) ? find(value) : undefined
  if (place !== undefined) return `\${{ ${place} }}`
  if (isObject(value)) return rewritten(value, schema, find, inputs)
  if (Array.isArray(value) && value.some((item) => item !== null && typeof item === 'object'))
    return value.map((item) => argument(name, item, isObject(schema?.items) ? schema.items : undefined, find, inputs))
  const isChoice = schema?.enum !== undefined || schema?.const !== undefined || schema?.default === value
  const mayVary = typeof value === 'string' || typeof value === 'number' || Array.isArray(value)
  const isExpression = typeof value === 'string' && value.includes('${{')
  return mayVary && (!isChoice || isExpression) ? `\${{ input${member(inputs.add(name, value, schema))} }}` : value
}

/** Names that are not used twice: `send`, `send_2`. */
class Names {
  readonly #used = new Set<string>()

  take(wanted: string): string {
    const plain = wanted
      .replaceAll(/\W+/g, '_')
      .replace(/^(?=\d)|^$/, '_')
      .slice(0, 56)
    let name = plain
    for (let n = 2; this.#used.has(name); n++) name = `${plain}_${n}`
    this.#used.add(name)
    return name
  }
}

/** The input of the workflow. The same value under the same name is one field. */
class Inputs {
  readonly #names = new Names()
  readonly #fields = new Map<string, { readonly name: string; readonly schema: JsonObject }>()

  add(wanted: string, value: Json, schema: JsonObject | undefined): string {
    const key = `${wanted} ${keyOf(value)}`
    const known = this.#fields.get(key)
    if (known) return known.name
    const { type = typeOf(value), description, items, format } = schema ?? {}
    const isHidden = JSON.stringify(value).includes(hidden)
    const field = { type, description, items, format, examples: isHidden ? undefined : [value] }
    const entries = Object.entries(field).filter((entry): entry is [string, Json] => entry[1] !== undefined)
    const name = this.#names.take(wanted)
    this.#fields.set(key, { name, schema: Object.fromEntries(entries) })
    return name
  }

  schema(): JsonObject {
    const fields = [...this.#fields.values()]
    return {
      type: 'object',
      properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
      required: fields.map(({ name }) => name),
    }
  }
}

const typeOf = (value: Json): string => (Array.isArray(value) ? 'array' : typeof value)
