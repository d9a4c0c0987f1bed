import type { Json } from '../../lib/json.ts'
import { orDidYouMean } from '../../lib/nearest.ts'
import { builtIns } from '../../model/guide.ts'
import { checkWhen, InvalidExpression, templateFaults } from '../guide/when.ts'
import { routineFaults } from './check-routine.ts'
import { listOf, type Manifest } from './schema.ts'
import type { ManifestFault, Path, Source } from './source.ts'

/** What the schema of a manifest cannot say: references between its parts. */
export function referenceFaults(manifest: Manifest, source: Source): ManifestFault[] {
  const { faultAt } = source
  const { mcps, context } = manifest.agent_config
  const { policies, routines, reevaluation_tools, relationships } = context
  const faults: ManifestFault[] = [
    ...variableFaults(manifest, source),
    ...twice(manifest.secrets, 'secret_name', ['secrets'], source),
    ...twice(mcps, 'id', ['agent_config', 'mcps'], source),
    ...twice(policies, 'id', ['agent_config', 'context', 'policies'], source),
    ...twice(routines, 'id', ['agent_config', 'context', 'routines'], source),
    ...twice(context.variables, 'id', ['agent_config', 'context', 'variables'], source),
    ...twice(context.canned_replies, 'id', ['agent_config', 'context', 'canned_replies'], source),
  ]
  const base = ['agent_config', 'context'] as const
  const namespaces = mcps.map(({ id }) => id)
  const tool = (id: string, path: Path): void => {
    const [namespace = ''] = id.split(':')
    if (namespaces.includes(namespace)) return
    const hint = orDidYouMean(namespace, namespaces) || (namespaces.length === 0 ? '; mcps is empty' : '')
    faults.push(faultAt(path, `no server in mcps has the id "${namespace}"${hint}`))
  }
  const when = (expression: string | undefined, path: Path): void => {
    if (expression === undefined) return
    try {
      checkWhen(expression)
    } catch (error) {
      if (!(error instanceof InvalidExpression)) throw error
      faults.push(faultAt(path, `is not a valid expression: ${error.message}`))
    }
  }
  for (const [index, policy] of policies.entries()) {
    const at = [...base, 'policies', index]
    for (const id of listOf(policy.tools)) tool(id, [...at, 'tools'])
    for (const id of listOf(policy.reevaluate_after)) tool(id, [...at, 'reevaluate_after'])
    when(policy.when, [...at, 'when'])
    const known = routines.map(({ id }) => id)
    if (policy.in_routine !== undefined && !known.includes(policy.in_routine)) {
      const message = `there is no routine "${policy.in_routine}"${orDidYouMean(policy.in_routine, known)}`
      faults.push(faultAt([...at, 'in_routine'], message))
    }
    if (policy.applies_to === 'reply' && policy.tools !== undefined) {
      faults.push(faultAt([...at, 'tools'], 'cannot be used with applies_to: reply, which checks a finished text'))
    }
  }
  for (const [index, { id }] of reevaluation_tools.entries()) tool(id, [...base, 'reevaluation_tools', index, 'id'])
  for (const [index, routine] of routines.entries()) {
    const at = [...base, 'routines', index]
    faults.push(...routineFaults(routine, routines, at, source))
    when(routine.when, [...at, 'when'])
    for (const [place, node] of routine.nodes.entries()) {
      for (const id of listOf(node.tools)) if (id !== builtIns.emitOutput) tool(id, [...at, 'nodes', place, 'tools'])
      for (const [number, transition] of node.transitions.entries()) {
        when(transition.when, [...at, 'nodes', place, 'transitions', number, 'when'])
      }
    }
  }
  const template = (value: Json, at: Path): void => {
    for (const { path, message } of templateFaults(value)) {
      const inner = path.split(/[.[\]]+/).filter((part) => part !== '')
      faults.push(faultAt([...at, ...inner.map((part) => (/^\d+$/.test(part) ? Number(part) : part))], message))
    }
  }
  for (const [index, variable] of context.variables.entries()) {
    const at = [...base, 'variables', index]
    tool(variable.tool, [...at, 'tool'])
    template(variable.arguments as Json, [...at, 'arguments'])
  }
  for (const [index, { text, when: condition }] of context.canned_replies.entries()) {
    const at = [...base, 'canned_replies', index]
    template(text, [...at, 'text'])
    when(condition, [...at, 'when'])
  }
  if (context.reply_mode === 'strict' && context.canned_replies.length === 0) {
    faults.push(faultAt([...base, 'reply_mode'], 'strict needs canned_replies: without them, nothing can be said'))
  }
  const known = [...policies.map(({ id }) => `policy:${id}`), ...routines.map(({ id }) => `routine:${id}`)]
  for (const [index, { higher, over = [] }] of relationships.priorities.entries()) {
    const at = [...base, 'relationships', 'priorities', index]
    for (const [name, path] of [
      [higher, [...at, 'higher']],
      ...over.map((one, place) => [one, [...at, 'over', place]] as const),
    ] as const) {
      if (!known.includes(name)) faults.push(faultAt(path, `there is no ${name}${orDidYouMean(name, known)}`))
    }
  }
  return faults
}

/** Ids must be unique. */
function twice<Item extends object>(
  items: readonly Item[],
  field: keyof Item & string,
  path: Path,
  { faultAt }: Source,
): ManifestFault[] {
  return items.flatMap((item, index) => {
    const first = items.findIndex((one) => one[field] === item[field])
    return first === index ? [] : [faultAt([...path, index, field], `"${String(item[field])}" is there twice`)]
  })
}

const variable = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

const secretFields = ['api_key', 'callback_secret']

/** Every `${NAME}` must be declared. As a secret, its value must not reach a prompt, so only keys can use it. */
function variableFaults(manifest: Manifest, { faultAt }: Source): ManifestFault[] {
  const declared = manifest.secrets.map(({ secret_name }) => secret_name)
  const faults: ManifestFault[] = []
  const walk = (value: unknown, path: Path): void => {
    if (typeof value === 'string') {
      for (const [whole, name = ''] of value.matchAll(variable)) {
        if (!declared.includes(name)) {
          const hint = orDidYouMean(name, declared) || `; add "- secret_name: ${name}" to secrets`
          faults.push(faultAt(path, `${whole} is not declared in secrets${hint}`))
        } else if (!secretFields.includes(String(path.at(-1)))) {
          faults.push(faultAt(path, `${whole} is a secret, so it can be used only as an api_key or callback_secret`))
        }
      }
    } else if (Array.isArray(value)) for (const [index, item] of value.entries()) walk(item, [...path, index])
    else if (typeof value === 'object' && value !== null) {
      // A script has placeholders of its own.
      for (const [key, inner] of Object.entries(value)) if (key !== 'script') walk(inner, [...path, key])
    }
  }
  walk(manifest.agent_config, ['agent_config'])
  return faults
}
