import { hashKey } from '../access/keys.ts'
import { guideOf, toolReferences } from '../agents/manifest/compile.ts'
import { instructionsOf } from '../agents/manifest/prompt.ts'
import { type ManifestFault, type ReadManifest, readManifest } from '../agents/manifest/read.ts'
import type { Manifest } from '../agents/manifest/schema.ts'
import { orDidYouMean } from '../lib/nearest.ts'
import type { Agent } from '../model/agent.ts'
import { PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { shortestSecret } from '../model/secret.ts'
import type { StoredTool } from '../store/tools.ts'
import { isWebhookSecret } from '../webhooks/signature.ts'
import { type Context, type Operation, requireAllowed } from './operation.ts'

export interface AppliedManifest {
  readonly agent: Agent
  /** The ids of the tools of each server: `cars:search_cars`. */
  readonly tools: readonly string[]
}

interface Applying extends Context {
  readonly projectId: string
  /** Values for the declared secrets. Those that are missing must be secrets of the project. */
  readonly values: Readonly<Record<string, string | undefined>>
}

/**
 * Makes the project match a manifest, with the operations that anyone would use for it. Nothing is changed but secrets until
 * the manifest is valid, all of its servers have answered, and they have all the tools that it refers to.
 */
export async function applyManifest(text: string, context: Applying): Promise<AppliedManifest> {
  const read = readManifest(text)
  if (!read.manifest) throw new PlatformError('MANIFEST_INVALID', { errors: read.faults })
  const { manifest } = read
  await authorize(manifest, context)
  await storeSecrets(manifest, read, context)
  await requireSigningSecrets(manifest, read, context)
  const drafts = await serverDrafts(manifest, read, context)
  const tools = await contact(drafts, context)
  requireTools(manifest, read, tools)
  const toolIds: string[] = []
  for (const draft of drafts) toolIds.push(await keepServer(draft, context))
  const generation = await keepProvider(manifest, 'generation', context)
  const evaluation = manifest.agent_config.llms.evaluation && (await keepProvider(manifest, 'evaluation', context))
  const agent = await keepAgent(manifest, { toolIds, ...generation }, context)
  const guide = await context.store.guides.keep(context.projectId, guideOf(manifest, evaluation ?? null))
  await context.store.agents.setGuide(agent.id, { guide_id: guide.id, manifest: text })
  await keepKey(manifest, agent, context)
  return { agent: { ...agent, has_guide: true }, tools: [...tools.values()].flat() }
}

/**
 * Checked before anything is sent: contacting a server sends it the value of its secret. The operations that follow check
 * the rest.
 */
async function authorize({ secrets, agent_config: { mcps, runtime } }: Manifest, context: Applying): Promise<void> {
  const { principal, projectId, store, values } = context
  const used = secrets.map(({ secret_name }) => secret_name).filter((name) => !values[name])
  const known = used.length === 0 ? [] : await store.secrets.named(projectId, used)
  for (const { id } of known) requireAllowed(principal, 'secrets:UseSecret', { projectId, kind: 'secret', id })
  if (mcps.length > 0) requireAllowed(principal, 'tools:CreateTool', { projectId, kind: 'tool', id: '*' })
  if (runtime.api_key !== undefined) {
    requireAllowed(principal, 'api-keys:CreateApiKey', { projectId, kind: 'api-key', id: '*' })
  }
}

const perform = (name: string, input: object, context: Context): Promise<unknown> =>
  (context.operations.get(name) as Operation).perform(input, context)

const invalid = (errors: readonly ManifestFault[]) => new PlatformError('MANIFEST_INVALID', { errors })

async function storeSecrets({ secrets }: Manifest, { faultAt }: ReadManifest, context: Applying): Promise<void> {
  const { values, store, projectId } = context
  const names = secrets.map(({ secret_name }) => secret_name)
  const known = names.length === 0 ? [] : await store.secrets.named(projectId, names)
  const faults = secrets.flatMap(({ secret_name: name }, index) => {
    const value = values[name]
    const path = ['secrets', index, 'secret_name']
    if (value === undefined || value === '') {
      if (known.some((one) => one.name === name)) return []
      return [faultAt(path, `${name} has no value: set the environment variable, or create a secret with this name`)]
    }
    if (value.length >= shortestSecret) return []
    return [faultAt(path, `the value of ${name} must have at least ${shortestSecret} characters`)]
  })
  if (faults.length > 0) throw invalid(faults)
  for (const name of names) {
    const value = values[name]
    if (!value) continue
    const existing = known.find((one) => one.name === name)
    if (!existing) await perform('create-secret', { project_id: projectId, name, value }, context)
    else if ((await secretValue(name, context)) !== value)
      await perform('update-secret', { id: existing.id, value }, context)
  }
}

const secretValue = (name: string, { toolDeps, projectId }: Applying): Promise<string> =>
  toolDeps.credentials.valueOf(projectId, name)

/** A callback cannot be signed with any text. */
async function requireSigningSecrets(manifest: Manifest, { faultAt }: ReadManifest, context: Applying): Promise<void> {
  const faults: ManifestFault[] = []
  for (const [index, { autonomous }] of manifest.agent_config.context.routines.entries()) {
    if (!autonomous?.callback_secret) continue
    if (isWebhookSecret(await secretValue(variableIn(autonomous.callback_secret), context))) continue
    const path = ['agent_config', 'context', 'routines', index, 'autonomous', 'callback_secret']
    faults.push(faultAt(path, 'its value must be whsec_ and at least 24 bytes in base64'))
  }
  if (faults.length > 0) throw invalid(faults)
}

const variableIn = (reference: string): string => reference.slice(2, -1)

interface ServerDraft {
  readonly id: string
  readonly existing: StoredTool | undefined
  readonly url: string
  readonly config: { readonly mcp: { readonly url: string; readonly headers?: Record<string, string> } }
}

async function serverDrafts(manifest: Manifest, { faultAt }: ReadManifest, context: Applying): Promise<ServerDraft[]> {
  const { store, projectId } = context
  const { data: agents } = await store.agents.list(
    { project_id: projectId, name: manifest.id, limit: 1, offset: 0 },
    undefined,
  )
  const faults: ManifestFault[] = []
  const drafts = await Promise.all(
    manifest.agent_config.mcps.map(async ({ id, hostname, port, api_key }, index): Promise<ServerDraft> => {
      const url = `${hostname.replace(/\/$/, '')}:${port}/mcp`
      const headers = api_key && { authorization: `Bearer \${{ secrets.${variableIn(api_key)} }}` }
      const named = await store.tools.list({ project_id: projectId, name: id, limit: 2, offset: 0 }, undefined)
      const [existing] = named.data
      const config = { mcp: { url, ...(headers && { headers }) } }
      const isOwn = existing && (agents[0]?.tool_ids.includes(existing.id) || sameAddress(existing, url))
      if (existing && !isOwn) {
        const message = `the project has another tool named "${id}": rename the server, or delete that tool`
        faults.push(faultAt(['agent_config', 'mcps', index, 'id'], message))
      }
      return { id, existing, url, config }
    }),
  )
  if (faults.length > 0) throw invalid(faults)
  return drafts
}

const sameAddress = ({ config }: StoredTool, url: string): boolean =>
  JSON.stringify(config).includes(JSON.stringify(url))

/** How long a server may take to list its tools. */
const contactSeconds = 20

/** Lists the tools of all servers at once. Throws an error that names every one that did not answer. */
async function contact(drafts: readonly ServerDraft[], context: Applying): Promise<Map<string, string[]>> {
  const { catalogue, toolDeps, projectId } = context
  const unreachable: { id: string; url: string; reason: string }[] = []
  const found = new Map<string, string[]>()
  await Promise.all(
    drafts.map(async ({ id, url, config, existing }) => {
      const probe: StoredTool = {
        ...{ name: id, type: 'mcp', description: null, config, many_actions: true, preset_parameters: null },
        ...{ app: null, pin_definitions: false, level: 'open', auto_approve: null, ask_destructive: false },
        ...{ timeout_seconds: contactSeconds, approval_timeout_seconds: null },
        ...{ id: existing?.id ?? newId('probe'), project_id: projectId, created_at: '', updated_at: '', secrets: null },
      }
      try {
        const { tool, filled } = await catalogue.requireFilled(probe)
        const actions = await catalogue.typeOf(tool).actions(tool, toolDeps, filled)
        found.set(
          id,
          actions.map(({ name }) => `${id}:${name}`),
        )
      } catch (error) {
        unreachable.push({ id, url, reason: (error as Error).message })
      } finally {
        if (!existing) toolDeps.upstreams.release([probe.id])
      }
    }),
  )
  if (unreachable.length > 0) throw new PlatformError('MANIFEST_SERVERS_UNREACHABLE', { servers: unreachable })
  return found
}

function requireTools(
  manifest: Manifest,
  { faultAt }: ReadManifest,
  tools: ReadonlyMap<string, readonly string[]>,
): void {
  const faults = toolReferences(manifest).flatMap(({ id, path }) => {
    const known = tools.get(id.slice(0, id.indexOf(':'))) ?? []
    if (known.includes(id)) return []
    const hint = orDidYouMean(id, known) || `; it has ${known.join(', ') || 'no tools'}`
    return [faultAt(path, `the server has no tool "${id}"${hint}`)]
  })
  if (faults.length > 0) throw invalid(faults)
}

async function keepServer({ id, existing, config }: ServerDraft, context: Applying): Promise<string> {
  if (!existing) {
    const fields = { project_id: context.projectId, name: id, type: 'mcp', ...config }
    return ((await perform('create-tool', fields, context)) as { id: string }).id
  }
  if (JSON.stringify(existing.config) !== JSON.stringify(config)) {
    await perform('update-tool', { id: existing.id, ...config }, context)
  }
  return existing.id
}

/** The AI provider for the agent's steps or for the guide's questions, by the name of the agent. */
async function keepProvider(
  manifest: Manifest,
  role: 'generation' | 'evaluation',
  context: Applying,
): Promise<{ ai_provider_id: string; model: string | null }> {
  const { store, projectId } = context
  const llm = manifest.agent_config.llms[role] ?? manifest.agent_config.llms.generation
  const model = llm.model ?? null
  const all = await store.names.all('ai_providers', projectId)
  if (llm.ai_provider !== undefined) {
    const found = all.find(({ name, id }) => name === llm.ai_provider || id === llm.ai_provider)
    if (found) return { ai_provider_id: found.id, model }
    const kind = 'ai-provider'
    throw new PlatformError('RESOURCE_NOT_FOUND', {
      kind,
      id: llm.ai_provider,
      did_you_mean: all.map(({ name }) => name),
    })
  }
  const name = role === 'generation' ? manifest.id : `${manifest.id}-${role}`
  const fields = {
    type: llm.provider,
    base_url: llm.base_url ?? null,
    default_model: model,
    api_key: llm.api_key === undefined ? null : await secretValue(variableIn(llm.api_key), context),
    script: llm.script ?? null,
    ...(llm.timeout_seconds !== undefined && { timeout_seconds: llm.timeout_seconds }),
    ...(llm.max_retries !== undefined && { max_retries: llm.max_retries }),
  }
  const existing = all.find((one) => one.name === name)
  const kept = existing
    ? await perform('update-ai-provider', { id: existing.id, ...fields }, context)
    : await perform('create-ai-provider', { project_id: projectId, name, ...fields }, context)
  return { ai_provider_id: (kept as { id: string }).id, model }
}

async function keepAgent(
  manifest: Manifest,
  { toolIds, ...provider }: { toolIds: string[]; ai_provider_id: string; model: string | null },
  context: Applying,
): Promise<Agent> {
  const { store, projectId } = context
  const { llms, runtime } = manifest.agent_config
  const fields = {
    ...provider,
    instructions: instructionsOf(manifest),
    tool_ids: toolIds,
    temperature: llms.generation.temperature ?? null,
    max_steps: runtime.max_engine_iterations + 3,
  }
  const existing = await store.agents.list({ project_id: projectId, name: manifest.id, limit: 1, offset: 0 }, undefined)
  const [found] = existing.data
  const kept = found
    ? await perform('update-agent', { id: found.id, ...fields }, context)
    : await perform('create-agent', { project_id: projectId, name: manifest.id, ...fields }, context)
  return kept as Agent
}

/** The key for clients of the agent's sessions. It can use this agent and nothing else. */
async function keepKey(manifest: Manifest, agent: Agent, context: Applying): Promise<void> {
  const { store, projectId, principal } = context
  const { api_key } = manifest.agent_config.runtime
  if (api_key === undefined) return
  const value = await secretValue(variableIn(api_key), context)
  const hash = hashKey(value)
  const name = `agent ${manifest.id}`
  const current = await store.apiKeys.findByHash(hash)
  for (const old of await store.names.find('api_keys', [name], projectId)) {
    if (old.project_id === projectId && old.id !== current?.id) await store.apiKeys.remove(old.id)
  }
  if (current) return
  const document = {
    statement: [
      {
        effect: 'Allow',
        action: ['sessions:*'],
        resource: [`qm:${projectId}:session:/agents/${agent.id}`],
      },
      {
        effect: 'Allow',
        action: ['agents:GetAgent', 'agents:CreateAgentGeneration'],
        resource: [`qm:${projectId}:agent:${agent.id}`],
      },
    ],
  }
  const known = (await store.names.find('access_policies', [name], projectId)).find(
    (one) => one.project_id === projectId,
  )
  const policy =
    known ??
    ((await perform('create-access-policy', { name, project_id: projectId, document }, context)) as { id: string })
  // Revoking the key that applied the manifest revokes this one, as for any key it creates.
  const owner = await store.apiKeys.find(principal.id)
  const above = owner ? ((await store.apiKeys.ancestorsOf([owner.id])).get(owner.id) ?? []) : []
  await store.apiKeys.create({
    ancestors: owner ? [...above, owner.id] : [],
    project_id: projectId,
    name,
    key_hash: hash,
    key_prefix: value.slice(0, 4),
    access_policy_ids: [policy.id],
    rate_limit: null,
    expires_at: null,
  })
}
