import type { ASTNode } from '@marcbachmann/cel-js'
import { isObject, type JsonObject } from '../lib/json.ts'
import { orDidYouMean } from '../lib/nearest.ts'

/**
 * What is known about a value: a JSON Schema, and the document that its references point into. Undefined if nothing is
 * known.
 */
export interface Shape {
  readonly schema: JsonObject
  readonly root: JsonObject
}

export interface ShapeFault {
  readonly message: string
  readonly at: number
}

export const shapeOf = (schema: JsonObject, root = schema): Shape => ({ schema, root })
const simple = (type: string): Shape => shapeOf({ type })

/** The shapes of the variables of an expression. */
export type Scope = Readonly<Record<string, Shape | undefined>>

/** The shape of an expression's result. Adds fields that do not exist to `faults`. */
export function shapeOfExpression(node: ASTNode, scope: Scope, faults: ShapeFault[]): Shape | undefined {
  const of = (inner: ASTNode, within = scope) => shapeOfExpression(inner, within, faults)
  switch (node.op) {
    case 'value':
      return literal(node.args)
    case 'id':
      return Object.hasOwn(scope, node.args) ? scope[node.args] : undefined
    case '.':
    case '.?':
      return fieldOf(of(node.args[0]), node.args[1], node, faults)
    case '[]':
    case '[?]':
      return elementOf(of(node.args[0]), node.args[1], of(node.args[1]), node, faults)
    case 'list': {
      const [first] = node.args.map((item) => of(item))
      return shapeOf({ type: 'array', ...(first && { items: first.schema }) }, first?.root)
    }
    case 'map': {
      for (const [, value] of node.args) of(value)
      return simple('object')
    }
    case '?:': {
      of(node.args[0])
      const [one, other] = [of(node.args[1]), of(node.args[2])]
      return typeOf(one) !== undefined && typeOf(one) === typeOf(other) ? one : undefined
    }
    case 'call':
      return calledShape(node.args[0], node.args[1], of)
    case 'rcall':
      return methodShape(node.args[0], node.args[1], node.args[2], scope, of)
    case '!_':
      of(node.args)
      return simple('boolean')
    case '-_':
      return of(node.args)
    default: {
      const [left, right] = (node.args as [ASTNode, ASTNode]).map((side) => of(side))
      return arithmetic.has(node.op) ? sum(left, right) : simple('boolean')
    }
  }
}

const arithmetic = new Set(['+', '-', '*', '/', '%'])

function sum(left: Shape | undefined, right: Shape | undefined): Shape | undefined {
  const types = new Set([typeOf(left), typeOf(right)])
  if (types.has(undefined)) return undefined
  if ([...types].every((type) => type === 'integer' || type === 'number')) return simple('number')
  return types.size === 1 ? left : undefined
}

function literal(value: unknown): Shape | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return simple(typeof value)
  if (typeof value === 'bigint') return simple('integer')
  return value === null ? simple('null') : undefined
}

const converted: Readonly<Record<string, string>> = {
  ...{ size: 'integer', int: 'integer', double: 'number', string: 'string', bool: 'boolean' },
}

function calledShape(name: string, args: readonly ASTNode[], of: (node: ASTNode) => Shape | undefined) {
  const [only] = args
  // The field may be missing: that is the question.
  if (name === 'has' && only?.op === '.') of(only.args[0])
  else for (const argument of args) of(argument)
  if (name === 'has') return simple('boolean')
  return Object.hasOwn(converted, name) ? simple(converted[name] as string) : undefined
}

const methods: Readonly<Record<string, string>> = {
  ...{ size: 'integer', contains: 'boolean', startsWith: 'boolean', endsWith: 'boolean', matches: 'boolean' },
  ...{ upperAscii: 'string', lowerAscii: 'string', trim: 'string', join: 'string' },
}

const macros = new Set(['map', 'filter', 'exists', 'all', 'exists_one'])

function methodShape(
  name: string,
  target: ASTNode,
  args: readonly ASTNode[],
  scope: Scope,
  of: (node: ASTNode, within?: Scope) => Shape | undefined,
): Shape | undefined {
  const list = of(target)
  const [variable, ...bodies] = args
  if (macros.has(name) && variable?.op === 'id') {
    const items = list && resolved(list)?.schema.items
    const element = list && isObject(items) ? shapeOf(items, list.root) : undefined
    const shapes = bodies.map((body) => of(body, { ...scope, [variable.args]: element }))
    if (name === 'filter') return list
    const last = shapes.at(-1)
    return name === 'map'
      ? shapeOf({ type: 'array', ...(last && { items: last.schema }) }, last?.root)
      : simple('boolean')
  }
  for (const argument of args) of(argument)
  return Object.hasOwn(methods, name) ? simple(methods[name] as string) : undefined
}

/** Follows a local reference. */
export function resolved(shape: Shape): Shape | undefined {
  let { schema } = shape
  for (let hops = 0; hops < 20; hops++) {
    if (typeof schema.$ref !== 'string') return { ...shape, schema }
    const target = pointed(schema.$ref, shape.root)
    if (!target) return undefined
    schema = target
  }
  return undefined
}

function pointed(reference: string, root: JsonObject): JsonObject | undefined {
  if (!reference.startsWith('#/')) return undefined
  const names = reference
    .slice(2)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const target = names.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), root)
  return isObject(target) ? target : undefined
}

/** The one type of a value; undefined if it is unknown or there are several. */
export function typeOf(shape: Shape | undefined): string | undefined {
  const schema = shape && resolved(shape)?.schema
  if (!schema) return undefined
  if (typeof schema.type === 'string') return schema.type
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== 'null')
    return types.length === 1 ? String(types[0]) : undefined
  }
  return isObject(schema.properties) ? 'object' : undefined
}

function fieldOf(
  parent: Shape | undefined,
  name: string,
  node: Pick<ASTNode, 'end' | 'start'>,
  faults: ShapeFault[],
): Shape | undefined {
  const found = parent && resolved(parent)
  if (!found) return undefined
  const at = node.end - name.length
  const type = typeOf(found)
  if (type !== undefined && type !== 'object') {
    faults.push({ message: `"${name}" cannot be read: the value before it is of type ${type}`, at })
    return undefined
  }
  const known = propertiesOf(found)
  if (!known) return undefined
  const property = known.get(name)
  if (property) return property
  faults.push({ message: `there is no field "${name}"${orDidYouMean(name, [...known.keys()])}`, at })
  return undefined
}

/** The fields of an object; undefined if it can have others, too. */
export function propertiesOf(shape: Shape): Map<string, Shape> | undefined {
  const { schema, root } = shape
  if (['anyOf', 'oneOf', 'allOf', 'patternProperties'].some((keyword) => schema[keyword] !== undefined))
    return undefined
  const { properties, additionalProperties } = schema
  if (!isObject(properties) || (additionalProperties !== undefined && additionalProperties !== false)) return undefined
  return new Map(
    Object.entries(properties).map(([name, inner]) => [name, shapeOf(isObject(inner) ? inner : {}, root)] as const),
  )
}

function elementOf(
  parent: Shape | undefined,
  key: ASTNode,
  keyShape: Shape | undefined,
  node: ASTNode,
  faults: ShapeFault[],
): Shape | undefined {
  if (key.op === 'value' && typeof key.args === 'string') {
    return fieldOf(parent, key.args, { start: key.start, end: key.end - 1 }, faults)
  }
  const found = parent && resolved(parent)
  const type = typeOf(found)
  if (type === 'array' && typeOf(keyShape) === 'string') {
    faults.push({ message: 'a list has no fields: use a number in []', at: node.start })
    return undefined
  }
  const items = found?.schema.items
  return found && isObject(items) ? shapeOf(items, found.root) : undefined
}
