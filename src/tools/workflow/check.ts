import {
  type Scope,
  type Shape,
  type ShapeFault,
  shapeOf,
  shapeOfExpression,
  typeOf,
} from '../../expressions/shapes.ts'
import type { Place, PlacedFault, Template } from '../../expressions/template.ts'
import { isObject, type JsonObject } from '../../lib/json.ts'
import { orDidYouMean } from '../../lib/nearest.ts'
import type { KnownAction } from './actions.ts'
import { checkArguments, type ShapeOfPlace } from './arguments.ts'
import { inputSchemaOf, type Workflow } from './definition.ts'
import { type ProgramStep, programOf } from './program.ts'

export interface Checked {
  readonly faults: readonly PlacedFault[]
  /** What is probably a mistake, but works. */
  readonly warnings: readonly PlacedFault[]
  /** What is known about the output. */
  readonly outputSchema: JsonObject
}

/** Finds an action that a step calls; `unchecked` if it cannot be known here whether it exists. */
export type FindAction = (id: string) => Promise<KnownAction | 'unchecked' | { readonly missing: string }>

/**
 * Checks a workflow before it runs: its expressions against the schemas of the input and of earlier steps, and the
 * arguments of each call against the schema of its action.
 */
export async function checkWorkflow(workflow: Workflow, find: FindAction): Promise<Checked> {
  const { program, faults: compiled } = programOf(workflow)
  const faults: PlacedFault[] = [...compiled, ...checkIds(workflow)]
  const shapes: Record<string, Shape | undefined> = {}
  const uses = new Set<string>()
  const calls: { step: ProgramStep; action: KnownAction }[] = []
  const input = shapeOf(inputSchemaOf(workflow))

  const checkPlaces = (template: Template | undefined, scope: Scope, own?: string): ShapeOfPlace => {
    const known = new Map<Place, Shape | undefined>()
    for (const place of template?.places ?? []) {
      for (const name of stepsIn(place)) uses.add(name)
      const wrong = checkOrder(place, own, Object.keys(shapes), workflow)
      const found: ShapeFault[] = []
      const shape = wrong ? undefined : shapeOfExpression(place.expression.ast, scope, found)
      for (const { message, at } of wrong ? [wrong] : found) {
        faults.push({ path: place.path, message: `in "${place.text}", ${message}`, at: place.at + at })
      }
      known.set(place, shape)
    }
    return (place) => known.get(place)
  }

  for (const [index, step] of program.steps.entries()) {
    const path = `workflow.steps[${index}]`
    const scope: Scope = { input, steps: stepsShape(shapes) }
    const list = checkPlaces(step.forEach, scope, step.id)
    for (const one of [step.if, step.seconds, step.until, step.event?.timeout]) checkPlaces(one, scope, step.id)
    const items = itemsOf(step.forEach, list, faults)
    const within: Scope = step.forEach ? { ...scope, item: items, index: shapeOf({ type: 'integer' }) } : scope
    const given = checkPlaces(step.input, within, step.id)
    const action = await checkCall(step.call, `${path}.call`, find, faults)
    if (action) {
      calls.push({ step, action })
      faults.push(...checkArguments(step.input, given, action.schema, `${path}.input`))
    }
    const handled = step.onError
    if (typeof handled === 'object') {
      const failing = { ...within, error: errorShape }
      const template = 'output' in handled ? handled.output : handled.input
      const compensating = checkPlaces(template, failing, step.id)
      if ('call' in handled) {
        const undo = await checkCall(handled.call, `${path}.on_error.call`, find, faults)
        if (undo) faults.push(...checkArguments(template, compensating, undo.schema, `${path}.on_error.input`))
      }
    }
    shapes[step.id] = stepShape(step, action)
  }
  const result = checkPlaces(program.output, { input, steps: stepsShape(shapes) })
  const last = program.steps.at(-1)
  const warnings = calls.flatMap(({ step, action }): PlacedFault[] =>
    action.readOnly && !uses.has(step.id) && !(step === last && workflow.output === undefined)
      ? [
          {
            path: pathOf(step, workflow),
            message: `the output of step "${step.id}" is not used, and its call changes nothing`,
          },
        ]
      : [],
  )
  const output = program.output ? outputOf(program.output, result) : outputShapeOf(shapes[last?.id ?? ''])
  return { faults, warnings, outputSchema: output }
}

const errorShape = shapeOf({
  type: 'object',
  properties: { code: { type: 'string' }, message: { type: 'string' }, details: {} },
})

const pathOf = ({ id }: ProgramStep, { steps }: Workflow) =>
  `workflow.steps[${steps.findIndex((step) => step.id === id)}]`

function checkIds({ steps }: Workflow): PlacedFault[] {
  return steps.flatMap(({ id }, index) => {
    const first = steps.findIndex((other) => other.id === id)
    return first < index
      ? [{ path: `workflow.steps[${index}].id`, message: `"${id}" is already the id of step ${first + 1}` }]
      : []
  })
}

async function checkCall(
  call: string | undefined,
  path: string,
  find: FindAction,
  faults: PlacedFault[],
): Promise<KnownAction | undefined> {
  const action = call === undefined ? 'unchecked' : await find(call)
  if (action === 'unchecked') return undefined
  const missing =
    'missing' in action
      ? action.missing
      : action.callable
        ? undefined
        : `"${call}" runs in your application, so a workflow cannot call it`
  if (!('missing' in action) && missing === undefined) return action
  faults.push({ path, message: missing as string })
  return undefined
}

/** The steps that an expression refers to as `steps.<id>` or `steps["id"]`. */
function stepsIn({ expression }: Place): string[] {
  const found: string[] = []
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) for (const inner of node) visit(inner)
    if (!isObject(node) || !('op' in node)) return
    const [target, key] = Array.isArray(node.args) ? (node.args as unknown[]) : []
    const isStep = isObject(target) && target.op === 'id' && target.args === 'steps'
    if (isStep && typeof key === 'string') found.push(key)
    else if (isStep && isObject(key) && typeof key.args === 'string') found.push(key.args)
    visit(node.args)
  }
  visit(expression.ast)
  return found
}

function checkOrder(
  place: Place,
  own: string | undefined,
  earlier: readonly string[],
  { steps }: Workflow,
): ShapeFault | undefined {
  for (const name of stepsIn(place)) {
    if (earlier.includes(name)) continue
    const at = Math.max(0, place.expression.ast.input.indexOf(name))
    if (name === own) return { message: `step "${name}" refers to itself`, at }
    if (steps.some(({ id }) => id === name))
      return { message: `step "${name}" runs later: a step can only refer to earlier ones`, at }
    return { message: `there is no step "${name}"${orDidYouMean(name, earlier)}`, at }
  }
  return undefined
}

const stepsShape = (shapes: Readonly<Record<string, Shape | undefined>>): Shape =>
  shapeOf({
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(shapes).map(([id, shape]) => [
        id,
        {
          type: 'object',
          properties: {
            output: inlined(shape),
            error: errorShape.schema,
            status: { type: 'string' },
          },
        },
      ]),
    ),
  })

/** References point into their own document, which is lost here. Such parts are left unchecked. */
const inlined = (shape: Shape | undefined): JsonObject =>
  shape && !JSON.stringify(shape.schema).includes('"$ref"') ? shape.schema : {}

function stepShape({ forEach, onError, event }: ProgramStep, action: KnownAction | undefined): Shape | undefined {
  const outputSchema = event ? event.data : action?.outputSchema
  // The output of another kind comes instead if the call fails.
  if (!outputSchema || typeof onError === 'object') return undefined
  return forEach ? shapeOf({ type: 'array', items: outputSchema }, outputSchema) : shapeOf(outputSchema)
}

function itemsOf(forEach: Template | undefined, shapeAt: ShapeOfPlace, faults: PlacedFault[]): Shape | undefined {
  const [place] = forEach?.places ?? []
  const shape = place && shapeAt(place)
  const type = typeOf(shape)
  if (place && type !== undefined && type !== 'array') {
    faults.push({ path: place.path, message: `must be a list, but "${place.text}" is of type ${type}`, at: place.at })
  }
  const items = shape?.schema.items
  return shape && isObject(items) ? shapeOf(items, shape.root) : undefined
}

function outputOf({ value, places }: Template, shapeAt: ShapeOfPlace): JsonObject {
  const [only] = places
  if (typeof value === 'string') return only?.isWhole ? inlined(shapeAt(only)) : { type: 'string' }
  if (!isObject(value)) return Array.isArray(value) ? { type: 'array' } : {}
  const properties = Object.entries(value).map(([name, inner]) => {
    const own = places.filter(({ path }) => path === `workflow.output.${name}`)
    if (typeof inner !== 'string') return [name, {}] as const
    return [name, outputOf({ value: inner, places: own } as unknown as Template, shapeAt)] as const
  })
  return { type: 'object', properties: Object.fromEntries(properties) }
}

const outputShapeOf = (shape: Shape | undefined): JsonObject => inlined(shape)
