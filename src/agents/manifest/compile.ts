import type { JsonObject } from '../../lib/json.ts'
import { builtIns, type GuideContent, type NodeKind, type Routine, type RoutineNode } from '../../model/guide.ts'
import { listOf, type Manifest, type ManifestNode, type ManifestRoutine } from './schema.ts'

const defaultSafeReply = 'I am sorry, I cannot answer that. Is there anything else I can help you with?'

/** The guide that a manifest describes. `evaluation` is the provider for the guide's questions. */
export function guideOf(
  { agent_config: { context, runtime } }: Manifest,
  evaluation: GuideContent['evaluation'],
): GuideContent {
  const { policies, routines, reevaluation_tools, glossary, relationships, safe_reply } = context
  const { variables, canned_replies, reply_mode } = context
  return {
    policies: policies.map((policy) => ({
      id: policy.id,
      condition: policy.condition ?? null,
      when: policy.when ?? null,
      action: policy.action,
      tools: listOf(policy.tools),
      criticality: policy.criticality,
      reevaluate_after: listOf(policy.reevaluate_after),
      in_routine: policy.in_routine ?? null,
      repeat: policy.repeat,
      applies_to: policy.applies_to,
    })),
    routines: routines.map(routineOf),
    reevaluation_tools: reevaluation_tools.map(({ id }) => id),
    glossary,
    priorities: relationships.priorities.map(({ higher, over = [], over_all_routines = false }) => ({
      higher,
      over,
      over_all_routines,
    })),
    variables: variables.map(({ id, tool, arguments: args, max_age_seconds = null }) => ({
      ...{ id, tool, max_age_seconds },
      arguments: args as JsonObject,
    })),
    canned_replies: canned_replies.map(({ id, text, when = null }) => ({ id, text, when })),
    reply_mode,
    safe_reply: safe_reply ?? defaultSafeReply,
    max_engine_iterations: runtime.max_engine_iterations,
    policy_batch_size: runtime.policy_batch_size,
    evaluation,
  }
}

const routineOf = (routine: ManifestRoutine): Routine => ({
  id: routine.id,
  title: routine.title,
  description: routine.description ?? null,
  conditions: listOf(routine.conditions),
  when: routine.when ?? null,
  entry: routine.entry,
  nodes: routine.nodes.map(nodeOf),
  autonomous: routine.autonomous
    ? {
        input_schema: routine.autonomous.input_schema ?? null,
        output_schema: routine.autonomous.output_schema,
        timeout_seconds: routine.autonomous.timeout_seconds ?? null,
        callback_url_allowlist: routine.autonomous.callback_url_allowlist,
        callback_secret: routine.autonomous.callback_secret?.slice(2, -1) ?? null,
      }
    : null,
})

const nodeOf = (node: ManifestNode): RoutineNode => ({
  id: node.id,
  kind: kindOf(node),
  text:
    node.chat_state ?? node.tool_instruction ?? node.think ?? (typeof node.routing === 'string' ? node.routing : ''),
  tools: node.think === undefined ? listOf(node.tools) : [builtIns.reason],
  output_schema: node.output_schema ?? null,
  transitions: node.transitions.map(({ to, condition, when }) => ({
    to,
    condition: condition ?? null,
    when: when ?? null,
  })),
})

function kindOf(node: ManifestNode): NodeKind {
  if (node.chat_state !== undefined) return 'chat'
  if (node.tools !== undefined) return 'tool'
  return node.think === undefined ? 'routing' : 'think'
}

/** The tools that a manifest refers to, with where it does. */
export function toolReferences({ agent_config: { context } }: Manifest): { id: string; path: (string | number)[] }[] {
  const base = ['agent_config', 'context']
  return [
    ...context.policies.flatMap(({ tools, reevaluate_after }, index) => [
      ...listOf(tools).map((id) => ({ id, path: [...base, 'policies', index, 'tools'] })),
      ...listOf(reevaluate_after).map((id) => ({ id, path: [...base, 'policies', index, 'reevaluate_after'] })),
    ]),
    ...context.variables.map(({ tool }, index) => ({ id: tool, path: [...base, 'variables', index, 'tool'] })),
    ...context.reevaluation_tools.map(({ id }, index) => ({ id, path: [...base, 'reevaluation_tools', index, 'id'] })),
    ...context.routines.flatMap(({ nodes }, index) =>
      nodes.flatMap(({ tools }, place) =>
        listOf(tools)
          .filter((id) => id !== builtIns.emitOutput)
          .map((id) => ({ id, path: [...base, 'routines', index, 'nodes', place, 'tools'] })),
      ),
    ),
  ]
}
