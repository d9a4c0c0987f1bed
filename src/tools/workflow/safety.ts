import { higherLevel, type Level } from '../../model/tool.ts'
import type { ActionLookup } from './actions.ts'
import type { Workflow, WorkflowConfig } from './definition.ts'

export interface Safety {
  readonly level: Level
  readonly idempotent: boolean
  readonly destructive: boolean
  readonly readOnly: boolean
}

const safest: Safety = { level: 'open', idempotent: true, destructive: false, readOnly: true }

/** For actions about which nothing is known: they may do anything. */
const unknown: Safety = { level: 'administrative', idempotent: false, destructive: true, readOnly: false }

/** Workflows can call workflows, but not endlessly. Dispatch has a limit too. */
const maxNesting = 10

/** Every action that a workflow can call. */
export const callsOf = ({ steps }: Workflow): string[] => [
  ...new Set(
    steps.flatMap(({ call, on_error }) => [
      ...(call === undefined ? [] : [call]),
      ...(typeof on_error === 'object' && 'call' in on_error ? [on_error.call] : []),
    ]),
  ),
]

/**
 * The level and annotations of a workflow: those of its least safe step. Reads the configs of inner workflows instead of
 * their catalogue entries, which would wait for each other if workflows called each other in a circle.
 */
export async function safetyOf(
  workflow: Workflow,
  projectId: string,
  lookup: ActionLookup,
  nesting = 0,
): Promise<Safety> {
  if (nesting > maxNesting) return unknown
  let least = safest
  for (const call of callsOf(workflow)) {
    const owner = await lookup.findOwner(projectId, call)
    // The step fails, so nobody needs to approve it. If the tool is created again, this is computed again.
    if (!owner) continue
    const inner = innerWorkflow(owner)
    if (inner) {
      const safety = await safetyOf(inner, projectId, lookup, nesting + 1)
      least = lesser(least, { ...safety, level: higherLevel(safety.level, owner.level) })
    } else {
      // A server that is unreachable now does not tell.
      const action = await lookup.findAction(projectId, call).catch(() => undefined)
      least = lesser(least, action ?? unknown)
    }
  }
  return least
}

export const innerWorkflow = ({ type, config }: { type: string; config: object }): Workflow | undefined =>
  type === 'workflow' ? (config as WorkflowConfig).workflow : undefined

const lesser = (one: Safety, other: Safety): Safety => ({
  level: higherLevel(one.level, other.level),
  idempotent: one.idempotent && other.idempotent,
  destructive: one.destructive || other.destructive,
  readOnly: one.readOnly && other.readOnly,
})

/** The path of calls by which a workflow would call itself; undefined if it does not. */
export async function findCycle(
  self: string,
  workflow: Workflow,
  projectId: string,
  lookup: ActionLookup,
  path: readonly string[] = [self],
): Promise<readonly string[] | undefined> {
  for (const call of callsOf(workflow)) {
    if (path.includes(call)) return call === self ? [...path, call] : undefined
    const owner = path.length > maxNesting ? undefined : await lookup.findOwner(projectId, call)
    const inner = owner && innerWorkflow(owner)
    const found = inner && (await findCycle(self, inner, projectId, lookup, [...path, call]))
    if (found) return found
  }
  return undefined
}
