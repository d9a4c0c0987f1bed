import { isObject, type JsonObject } from '../../lib/json.ts'
import type { Toolbox } from '../toolbox.ts'
import { argumentsOf, type NamedCall } from './facts.ts'

/**
 * The required arguments of a tool, in the order in which to ask a customer for them. The schema of a parameter can have
 * `x-precedence`: those with the lowest number come first. Without it, all come at once, last.
 */
export function askingOrder(schema: JsonObject): string[][] {
  const { required, properties } = schema
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
  const groups = new Map<number, string[]>()
  for (const name of names) {
    const property = isObject(properties) ? properties[name] : undefined
    const given = isObject(property) ? property['x-precedence'] : undefined
    const at = typeof given === 'number' ? given : Number.POSITIVE_INFINITY
    groups.set(at, [...(groups.get(at) ?? []), name])
  }
  return [...groups].sort(([a], [b]) => a - b).map(([, group]) => group)
}

const schemaOf = (toolId: string, toolbox: Toolbox): JsonObject =>
  toolbox.active(null).find(({ prepared }) => prepared.action.id === toolId)?.prepared.publicSchema ?? {}

/** For a tool whose arguments have an order: says it. */
export function orderText(toolIds: readonly string[], toolbox: Toolbox): string {
  const orders = toolIds.map((id) => askingOrder(schemaOf(id, toolbox))).filter((groups) => groups.length > 1)
  return orders
    .map((groups) => ` Ask in this order: ${groups.map((group) => group.join(' and ')).join(', then ')}.`)
    .join('')
}

/** What to ask for after calls that were refused because required arguments are missing. */
export function missingTexts(latest: readonly NamedCall[], toolbox: Toolbox): string[] {
  return latest.flatMap(({ call, toolId }) => {
    const { output } = call
    const isRefused = isObject(output) && isObject(output.error) && output.error.code === 'VALIDATION_FAILED'
    if (!isRefused) return []
    const given = argumentsOf(call)
    const missing = askingOrder(schemaOf(toolId, toolbox))
      .map((group) => group.filter((name) => given[name] === undefined))
      .filter((group) => group.length > 0)
    if (missing.length === 0) return []
    const all = missing.flat().join(', ')
    return [
      `${toolId} was not called: these arguments are missing: ${all}. Ask the customer for ${missing[0]?.join(' and ')}.`,
    ]
  })
}
