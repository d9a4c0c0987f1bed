import { SchemaCompiler } from '../../json-schema/schema-compiler.ts'
import type { JsonObject } from '../../lib/json.ts'
import { orDidYouMean } from '../../lib/nearest.ts'
import { builtIns } from '../../model/guide.ts'
import { listOf, type ManifestNode, type ManifestRoutine } from './schema.ts'
import type { ManifestFault, Path, Source } from './source.ts'

/** The faults of a routine as a graph: each node does one thing, can be reached, and leads to an end. */
export function routineFaults(
  routine: ManifestRoutine,
  all: readonly ManifestRoutine[],
  at: Path,
  { faultAt }: Source,
): ManifestFault[] {
  const { nodes, entry, autonomous } = routine
  const ids = nodes.map(({ id }) => id)
  const faults = nodes.flatMap((node, index) => {
    const path = [...at, 'nodes', index]
    return [
      ...(ids.indexOf(node.id) === index ? [] : [faultAt([...path, 'id'], `"${node.id}" is there twice`)]),
      ...kindFaults(node).map(([field, message]) => faultAt(field ? [...path, field] : path, message)),
      ...transitionFaults(node, routine, all).map(([number, message]) =>
        faultAt([...path, 'transitions', number, 'to'], message),
      ),
      ...(autonomous ? autonomousFaults(node).map((message) => faultAt(path, message)) : []),
      ...(!autonomous && listOf(node.tools).includes(builtIns.emitOutput)
        ? [faultAt([...path, 'tools'], `${builtIns.emitOutput} can be used only in a routine with "autonomous"`)]
        : []),
    ]
  })
  faults.push(...schemaFaults(routine).map(([path, message]) => faultAt([...at, ...path], message)))
  if (!ids.includes(entry)) {
    return [...faults, faultAt([...at, 'entry'], `there is no node "${entry}"${orDidYouMean(entry, ids)}`)]
  }
  if (!autonomous && routine.conditions === undefined && routine.when === undefined) {
    faults.push(faultAt(at, 'has neither "conditions" nor "when", so it can never start'))
  }
  return [...faults, ...graphFaults(routine, at, faultAt)]
}

const compiler = new SchemaCompiler()

/** Invalid JSON Schemas would fail only when a model answers. */
function schemaFaults({ nodes, autonomous }: ManifestRoutine): [Path, string][] {
  const all: [Path, JsonObject | undefined][] = [
    ...nodes.map(({ output_schema }, index): [Path, JsonObject | undefined] => [
      ['nodes', index, 'output_schema'],
      output_schema,
    ]),
    [['autonomous', 'input_schema'], autonomous?.input_schema],
    [['autonomous', 'output_schema'], autonomous?.output_schema],
  ]
  return all.flatMap(([path, schema]) =>
    schema ? compiler.faultsOf(schema).map(({ message }): [Path, string] => [path, message]) : [],
  )
}

function graphFaults({ nodes, entry }: ManifestRoutine, at: Path, faultAt: Source['faultAt']): ManifestFault[] {
  const next = new Map(nodes.map(({ id, transitions }) => [id, transitions.map(({ to }) => to)]))
  const reached = closure([entry], (id) => next.get(id) ?? [])
  const before = (id: string) => nodes.filter(({ transitions }) => transitions.some(({ to }) => to === id))
  const ends = nodes.filter(({ transitions }) => transitions.length === 0).map(({ id }) => id)
  const leading = closure(ends, (id) => before(id).map((node) => node.id))
  return nodes.flatMap(({ id }, index) => {
    const path = [...at, 'nodes', index]
    if (!reached.has(id)) return [faultAt(path, `"${id}" cannot be reached from the entry "${entry}"`)]
    if (!leading.has(id)) {
      return [
        faultAt(path, `"${id}" is in a loop with no way out: give a node of the loop a transition that leaves it`),
      ]
    }
    return []
  })
}

function closure(start: readonly string[], next: (id: string) => readonly string[]): Set<string> {
  const found = new Set(start)
  for (const id of found) for (const one of next(id)) found.add(one)
  return found
}

/** A node has exactly one kind. */
function kindFaults(node: ManifestNode): [field: string | undefined, message: string][] {
  const { chat_state, tools, tool_instruction, think, output_schema, routing, transitions } = node
  if (tools !== undefined && chat_state !== undefined) {
    const message =
      'has both tools and chat_state. A node calls tools or talks, because it completes in one way only: make two nodes with a transition between them'
    return [[undefined, message]]
  }
  const given = Object.entries({ chat_state, tools, think, routing }).flatMap(([name, value]) =>
    value === undefined || value === false ? [] : [name],
  )
  if (given.length !== 1) {
    const what = given.length === 0 ? 'has none of' : `has ${given.join(' and ')}: it must have exactly one of`
    return [[undefined, `${what} chat_state, tools, think, routing`]]
  }
  const faults: [string | undefined, string][] = []
  const isEmit = listOf(tools).includes(builtIns.emitOutput)
  if (listOf(tools).includes(builtIns.reason)) {
    faults.push(['tools', `${builtIns.reason} is used by writing think and output_schema`])
  }
  if (tools !== undefined && listOf(tools).length === 0) faults.push(['tools', 'must name at least one tool'])
  if (isEmit && listOf(tools).length > 1)
    faults.push(['tools', `${builtIns.emitOutput} must be the only tool of its node`])
  if (tools !== undefined && tool_instruction === undefined && !isEmit) {
    faults.push([undefined, 'has tools but no tool_instruction, which says how to derive the arguments'])
  }
  if (tools === undefined && tool_instruction !== undefined) faults.push(['tool_instruction', 'has no tools'])
  if (think !== undefined && output_schema === undefined) faults.push([undefined, 'has think but no output_schema'])
  if (think === undefined && output_schema !== undefined) faults.push(['output_schema', 'is only for nodes with think'])
  if (routing !== undefined && transitions.length === 0)
    faults.push([undefined, 'is a routing node without transitions'])
  return faults
}

function transitionFaults(
  { transitions, id }: ManifestNode,
  { nodes, id: routineId }: ManifestRoutine,
  all: readonly ManifestRoutine[],
): [number, string][] {
  const ids = nodes.map((node) => node.id)
  const faults = transitions.flatMap(({ to }, number): [number, string][] => {
    if (ids.includes(to)) return []
    const elsewhere = all.find((other) => other.id !== routineId && other.nodes.some((node) => node.id === to))
    const hint = elsewhere
      ? `; it is a node of the routine "${elsewhere.id}", and transitions stay within a routine`
      : orDidYouMean(to, ids)
    return [[number, `there is no node "${to}"${hint}`]]
  })
  const plain = transitions.flatMap(({ condition, when }, number) => ((condition ?? when) ? [] : [number]))
  const [, second] = plain
  if (second !== undefined) {
    faults.push([second, `"${id}" has several transitions without a condition: only one of them can be taken`])
  }
  return faults
}

function autonomousFaults({ chat_state, tools, transitions, id }: ManifestNode): string[] {
  if (chat_state !== undefined) return [`"${id}" has chat_state, but an autonomous routine has nobody to talk to`]
  const emits = listOf(tools).includes(builtIns.emitOutput)
  if (transitions.length === 0 && !emits) {
    return [`"${id}" has no transitions, so it must end the run: use "tools: ${builtIns.emitOutput}"`]
  }
  return transitions.length > 0 && emits ? [`"${id}" ends the run, so it cannot have transitions`] : []
}
