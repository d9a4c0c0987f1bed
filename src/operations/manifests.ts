import { z } from 'zod'
import { rehearse } from '../agents/guide/rehearse.ts'
import { guideOf } from '../agents/manifest/compile.ts'
import { instructionsOf } from '../agents/manifest/prompt.ts'
import { readManifest } from '../agents/manifest/read.ts'
import { Manifest } from '../agents/manifest/schema.ts'
import type { JsonObject } from '../lib/json.ts'
import { Agent } from '../model/agent.ts'
import { PlatformError } from '../model/errors.ts'
import { Id, Text } from '../model/page.ts'
import { pathOf, type SessionRecord } from '../store/sessions.ts'
import type { Store } from '../store/store.ts'
import { agent } from './agents.ts'
import { applyManifest } from './apply-manifest.ts'
import { print } from './json-schema.ts'
import { acts, creates, operation, requireAllowed } from './operation.ts'

const Source = Text.min(1).max(2_000_000).describe('The manifest, in YAML')

export const ManifestProblem = z.object({
  line: z.int(),
  column: z.int(),
  path: z.string(),
  message: z.string(),
})

export const AgentManifest = z.object({
  manifest: z.string(),
  guide: z
    .custom<JsonObject>()
    .meta({ type: 'object', description: 'Its policies and routines, with defaults filled in' }),
})

export const JsonSchema = z.custom<JsonObject>().meta({ type: 'object' })

/** One line, because JSON is YAML and examples of commands are lines. */
const example = {
  manifest: JSON.stringify({
    id: 'car-desk',
    agent_config: {
      llms: { generation: { provider: 'openai-compatible', base_url: 'http://127.0.0.1:11434/v1', model: 'qwen3' } },
      context: {
        description: 'You sell cars.',
        policies: [{ id: 'discount', condition: 'asks for a discount', action: 'Offer 5 %, once.', repeat: 'once' }],
        routines: [
          {
            id: 'summary',
            title: 'Summary of an order',
            entry: 'emit',
            nodes: [{ id: 'emit', tools: 'built-in:emit_output' }],
            autonomous: { output_schema: { type: 'object', properties: { text: { type: 'string' } } } },
          },
        ],
      },
    },
  }),
}

export const checkManifest = operation({
  name: 'check-manifest',
  permission: 'manifests:CheckManifest',
  route: 'POST /manifests/check',
  summary: 'Check a manifest without applying it; no server is contacted',
  example,
  repeatable: true,
  input: z.strictObject({ manifest: Source }),
  output: z.object({
    valid: z.boolean(),
    errors: z.array(ManifestProblem),
    guide: z
      .custom<JsonObject>()
      .nullable()
      .meta({ type: ['object', 'null'], description: 'Its policies and routines, with defaults filled in' }),
  }),
  async run({ manifest: text }) {
    const { manifest, faults } = readManifest(text)
    const guide = manifest ? (guideOf(manifest, null) as unknown as JsonObject) : null
    return { valid: faults.length === 0, errors: [...faults], guide }
  },
})

export const applyManifestOperation = creates({
  name: 'apply-manifest',
  permission: 'manifests:ApplyManifest',
  route: 'POST /manifests',
  summary: 'Create or change an agent from a manifest, with its servers, models, policies and routines',
  example,
  status: 200,
  secretFields: ['secrets'],
  kind: 'agent',
  input: z.strictObject({
    project_id: Id.optional(),
    manifest: Source,
    secrets: z
      .record(z.string(), z.string().max(65_536))
      .default({})
      .describe('Values of the secrets that the manifest declares; they are stored encrypted'),
  }),
  output: z.object({ agent: Agent, tools: z.array(z.string()).describe('The tools of its servers') }),
  async run({ manifest, secrets }, context) {
    const applied = await applyManifest(manifest, { ...context, values: secrets })
    return { agent: applied.agent, tools: [...applied.tools] }
  },
})

const Difference = z.object({ added: z.array(z.string()), removed: z.array(z.string()) })

export const rehearseManifest = creates({
  name: 'rehearse-manifest',
  permission: 'manifests:RehearseManifest',
  route: 'POST /manifests/rehearse',
  summary: 'Show how recorded sessions would have gone under a changed manifest; no tool is called',
  example: { ...example, sessions: 50 },
  status: 200,
  kind: 'agent',
  input: z.strictObject({
    project_id: Id.optional(),
    manifest: Source,
    sessions: z.int().min(1).max(1000).default(200).describe('How many of the latest sessions of the agent'),
    session_ids: z.array(Id).min(1).max(1000).optional().describe('These sessions instead'),
  }),
  output: z.object({
    sessions: z.int(),
    turns: z.int(),
    changed: z.array(
      z.object({
        session_id: z.string(),
        generation_id: z.string(),
        message: z.string(),
        applies: Difference.describe('policies and routines'),
        nodes: Difference.describe('where the session is in its routines'),
        tools: Difference.describe('the tools that are offered'),
        calls: Difference.describe('the calls of tools, with their arguments; the turn is not played beyond the first'),
        violations: Difference.describe('policies for replies that the reply goes against'),
        reply: z.object({ before: z.string(), after: z.string() }).nullable(),
      }),
    ),
    reused: z
      .int()
      .describe('Answers of the model that hold: about rules, transitions and steps whose prompt is unchanged'),
    asked: z.int().describe('Questions that the model was asked'),
    cost: z.number().describe('In US dollars, as far as prices are known'),
    faults: z
      .array(z.string())
      .describe('What could not be found out, such as questions that the model did not answer'),
  }),
  async run({ manifest: text, sessions: count, session_ids }, context) {
    const { store, projectId, principal, schemas, models, catalogue, closing, gone } = context
    const { manifest, faults } = readManifest(text)
    if (!manifest) throw new PlatformError('MANIFEST_INVALID', { errors: faults })
    const named = { project_id: projectId, name: manifest.id, limit: 1, offset: 0 }
    const [found] = (await store.agents.list(named, undefined)).data
    if (!found) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'agent', id: manifest.id })
    // What sessions say becomes visible in the answer.
    const resource = { projectId, kind: 'session', id: '*', path: pathOf(found.id) }
    requireAllowed(principal, 'sessions:ListEvents', resource)
    const { guide_id = null } = (await store.agents.guideOf(found.id)) ?? {}
    const current = guide_id === null ? undefined : await store.guides.find(guide_id)
    const guide = { ...guideOf(manifest, current?.evaluation ?? null), id: 'rehearsal' }
    const signal = AbortSignal.any([closing, ...(gone ? [gone()] : [])])
    const rehearsal = await rehearse(
      await sessionsOf(found.id, session_ids ?? count, store),
      { guide, instructions: instructionsOf(manifest) },
      { store, schemas, models, catalogue },
      signal,
    )
    return { ...rehearsal, changed: [...rehearsal.changed], faults: [...rehearsal.faults] }
  },
})

/** These sessions of an agent, or its latest ones. */
async function sessionsOf(agentId: string, wanted: number | readonly string[], store: Store): Promise<SessionRecord[]> {
  if (typeof wanted === 'number') {
    return (await store.sessions.list({ agent_id: agentId, limit: wanted, offset: 0 }, undefined)).data
  }
  return Promise.all(
    wanted.map(async (id) => {
      const found = await store.sessions.find(id)
      if (found?.agent_id !== agentId) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'session', id })
      return found
    }),
  )
}

export const getAgentManifest = acts({
  name: 'get-agent-manifest',
  permission: 'agents:GetAgent',
  route: 'GET /agents/{agent_id}/manifest',
  summary: 'Get the manifest of an agent, and its policies and routines as they are applied',
  on: agent,
  input: z.strictObject({ id: Id }),
  output: AgentManifest,
  async run({ id }, { store }) {
    const { guide_id = null, manifest = null } = (await store.agents.guideOf(id)) ?? {}
    const guide = guide_id === null ? undefined : await store.guides.find(guide_id)
    if (!guide || manifest === null) throw new PlatformError('NO_MANIFEST', { agent_id: id })
    return { manifest, guide: guide as unknown as JsonObject }
  },
})

export const getManifestSchema = operation({
  name: 'get-manifest-schema',
  permission: 'manifests:CheckManifest',
  route: 'GET /manifests/schema',
  summary: 'Get the JSON Schema of manifests, for editors',
  input: z.strictObject({}),
  output: JsonSchema,
  run: async () => manifestSchema(),
})

export const manifestSchema = (): JsonObject => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Quartermaster manifest',
  ...print(Manifest, 'input'),
})
