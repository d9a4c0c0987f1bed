import { z } from 'zod'
import { addressOf } from '../agents/models/address.ts'
import { recordedScript } from '../agents/models/record.ts'
import { loadScript } from '../agents/models/replay.ts'
import { wholeSlice } from '../lib/characters.ts'
import { AiProvider, AiProviderFields, AiProviderSecrets, ListedAiProvider, Script } from '../model/ai-provider.ts'
import { errorBody, type Fault, PlatformError } from '../model/errors.ts'
import { newId } from '../model/ids.ts'
import { Id, Paging, pageOf, Text } from '../model/page.ts'
import { printReplayScript } from '../model/replay-script.ts'
import type { AiProviderDraft, AiProviderRecord } from '../store/ai-providers.ts'
import { sealedAt } from '../store/sealed.ts'
import { acts, type Context, creates, lists, type RecordKind } from './operation.ts'

export const aiProvider: RecordKind<AiProviderRecord> = {
  name: 'ai-provider',
  find: (id, store) => store.aiProviders.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'ai-provider', id }),
}

const { name, type, ...rest } = AiProviderFields
const optional = z.object({ ...rest, ...AiProviderSecrets, script: Script }).partial().shape

const empty: Omit<AiProviderDraft, 'name' | 'type'> = {
  base_url: null,
  default_model: null,
  prices: null,
  record: false,
  timeout_seconds: 120,
  max_retries: 3,
  api_key: null,
  api_key_hint: null,
  headers: null,
  header_names: null,
  script: null,
}

export const createAiProvider = creates({
  name: 'create-ai-provider',
  permission: 'ai-providers:CreateAiProvider',
  route: 'POST /ai-providers',
  summary: 'Create an AI provider',
  example: { name: 'local', type: 'openai-compatible', base_url: 'http://127.0.0.1:11434/v1', default_model: 'qwen3' },
  kind: 'ai-provider',
  input: z.strictObject({ project_id: Id.optional(), name, type, ...optional }),
  output: AiProvider,
  async run({ project_id: _, ...input }, context) {
    const id = newId('aip')
    const draft = await changed({ ...empty, name: input.name, type: input.type }, input, { id, context })
    return present(await context.store.aiProviders.create(id, context.projectId, draft))
  },
})

export const listAiProviders = lists({
  name: 'list-ai-providers',
  permission: 'ai-providers:ListAiProviders',
  route: 'GET /ai-providers',
  summary: 'List AI providers, without their scripts',
  of: aiProvider,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(ListedAiProvider),
  async run(input, { store, visible }) {
    const page = await store.aiProviders.list(input, visible)
    return { ...page, data: page.data.map(presentListed) }
  },
})

export const getAiProvider = acts({
  name: 'get-ai-provider',
  permission: 'ai-providers:GetAiProvider',
  route: 'GET /ai-providers/{ai_provider_id}',
  summary: 'Get an AI provider; its key is never shown',
  on: aiProvider,
  input: z.strictObject({ id: Id }),
  output: AiProvider,
  run: async (_, { target }) => present(target),
})

export const updateAiProvider = acts({
  name: 'update-ai-provider',
  permission: 'ai-providers:UpdateAiProvider',
  route: 'PATCH /ai-providers/{ai_provider_id}',
  summary: 'Change an AI provider; to change its address, send its key again',
  example: { default_model: 'qwen3:14b' },
  on: aiProvider,
  input: z.strictObject({ id: Id, name: name.optional(), type: type.optional(), ...optional }),
  output: AiProvider,
  async run({ id, ...change }, context) {
    const { target } = context
    const draft = await changed(target, change, { id, context, before: target })
    return present((await context.store.aiProviders.update(id, draft)) ?? target)
  },
})

export const deleteAiProvider = acts({
  name: 'delete-ai-provider',
  permission: 'ai-providers:DeleteAiProvider',
  route: 'DELETE /ai-providers/{ai_provider_id}',
  summary: 'Delete an AI provider that no agent uses',
  status: 204,
  on: aiProvider,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    if (await store.aiProviders.remove(id)) return null
    const dependents = await store.aiProviders.dependents(id)
    // Another request has deleted it.
    if (dependents.length === 0) return null
    throw new PlatformError('HAS_DEPENDENTS', { kind: 'ai-provider', id, dependents })
  },
})

export const Tested = z.object({
  ok: z.boolean(),
  model: z.string().nullable(),
  text: z.string().nullable().describe('The model’s response'),
  duration_ms: z.int(),
  error: z
    .object({ code: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()) })
    .nullable()
    .describe('What went wrong and what to do about it'),
})

const maxTestSeconds = 60

export const testAiProvider = acts({
  name: 'test-ai-provider',
  permission: 'ai-providers:TestAiProvider',
  route: 'POST /ai-providers/{ai_provider_id}/test',
  summary: 'Test an AI provider with a one-word request',
  example: { model: 'qwen3' },
  on: aiProvider,
  input: z.strictObject({
    id: Id,
    model: Text.min(1).max(200).optional().describe('The model; defaults to the provider’s default model'),
  }),
  output: Tested,
  async run({ model = null }, { target, models, live }) {
    const started = performance.now()
    const asked = model ?? target.default_model ?? (target.type === 'replay' ? 'replay' : null)
    const answered = (fields: Partial<z.infer<typeof Tested>>) => ({
      ...{ ok: false, model: asked, text: null, error: null },
      ...fields,
      duration_ms: Math.round(performance.now() - started),
    })
    if (asked === null) {
      const errors = [{ path: 'model', message: 'is missing: the provider has no default_model' }]
      throw new PlatformError('VALIDATION_FAILED', { errors })
    }
    try {
      const answer = await models.generate(
        {
          ...target,
          record: false,
          max_retries: 0,
          timeout_seconds: Math.min(target.timeout_seconds, maxTestSeconds),
        },
        {
          model: asked,
          messages: [{ role: 'user', content: 'Answer with the one word: ready' }],
          tools: [],
          toolChoice: 'auto',
          temperature: null,
          signal: live?.signal ?? new AbortController().signal,
        },
      )
      return answered({ ok: true, model: answer.model, text: wholeSlice(answer.text, 1000) })
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error
      return answered({ error: errorBody(error).error })
    }
  },
})

export const Recording = z.object({
  steps: z.int(),
  script: z.string().nullable().describe('YAML; null if nothing is recorded'),
})

export const getAiProviderRecording = acts({
  name: 'get-ai-provider-recording',
  permission: 'ai-providers:GetAiProviderRecording',
  route: 'GET /ai-providers/{ai_provider_id}/recording',
  summary: 'Get the recorded responses of a provider as a replay script',
  on: aiProvider,
  input: z.strictObject({ id: Id }),
  output: Recording,
  async run(_, { target, store }) {
    const script = recordedScript(target.name, await store.aiProviders.recorded(target.id))
    return { steps: script.steps.length, script: script.steps.length === 0 ? null : printReplayScript(script) }
  },
})

export const deleteAiProviderRecording = acts({
  name: 'delete-ai-provider-recording',
  permission: 'ai-providers:DeleteAiProviderRecording',
  route: 'DELETE /ai-providers/{ai_provider_id}/recording',
  summary: 'Delete the recorded responses of a provider',
  status: 204,
  on: aiProvider,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    await store.aiProviders.forgetRecorded(id)
    return null
  },
})

const hidden = '[hidden]'

const present = (record: AiProviderRecord): AiProvider => ({ ...presentListed(record), script: record.script })

function presentListed(record: Omit<AiProviderRecord, 'script'>): ListedAiProvider {
  const { api_key, api_key_hint, headers: _, header_names, ...shown } = record
  return {
    ...shown,
    has_api_key: api_key !== null,
    api_key_hint,
    headers: header_names && Object.fromEntries(header_names.map((one) => [one, hidden])),
  }
}

type Change = Partial<
  Pick<
    AiProviderDraft,
    'name' | 'type' | 'base_url' | 'default_model' | 'prices' | 'record' | 'timeout_seconds' | 'max_retries'
  >
> & {
  readonly api_key?: string | null | undefined
  readonly headers?: Record<string, string> | null | undefined
  readonly script?: string | Record<string, unknown> | null | undefined
}

interface Place {
  readonly id: string
  readonly context: Pick<Context, 'vault'>
  readonly before?: AiProviderRecord
}

/** Applies a change, validates the result as a whole, and encrypts its secrets. */
async function changed(
  draft: AiProviderDraft,
  change: { [Field in keyof Change]: Change[Field] | undefined },
  place: Place,
): Promise<AiProviderDraft> {
  const { api_key, headers, script, ...plain } = change
  const given = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined))
  const next: AiProviderDraft = {
    ...draft,
    ...given,
    ...(script !== undefined && { script: scriptText(script) }),
  }
  const errors = [...faultsOf(next, change, place.before)]
  if (errors.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors })
  return { ...next, ...(await sealedKey(api_key, place)), ...(await sealedHeaders(headers, place)) }
}

const scriptText = (script: string | Record<string, unknown> | null): string | null =>
  script === null || typeof script === 'string' ? script : JSON.stringify(loadScript(script), null, 2)

function* faultsOf(
  next: AiProviderDraft,
  change: { [Field in keyof Change]: Change[Field] | undefined },
  before?: AiProviderRecord,
): Generator<Fault> {
  const isReplay = next.type === 'replay'
  if (next.type === 'openai-compatible' && next.base_url === null) {
    yield { path: 'base_url', message: 'is missing: openai-compatible providers need it' }
  }
  if (isReplay && next.base_url !== null)
    yield { path: 'base_url', message: 'is not used by replay providers: leave it out' }
  if (isReplay && change.api_key) yield { path: 'api_key', message: 'is not used by replay providers: leave it out' }
  if (isReplay && next.script === null) yield { path: 'script', message: 'is missing: replay providers need it' }
  if (!isReplay && next.script !== null) {
    yield { path: 'script', message: `is not used by ${next.type} providers: leave it out` }
  }
  if (isReplay && typeof change.script === 'string') yield* scriptFaults(change.script)
  // Permission to change a provider does not include reading its key. So the key must not follow to a new address.
  if (!before || originOf(next) === originOf(before)) return
  const message = 'must be sent again, or be null, when the provider’s address changes'
  if (before.api_key !== null && change.api_key === undefined) yield { path: 'api_key', message }
  if (before.headers !== null && change.headers === undefined) yield { path: 'headers', message }
  for (const [header, value] of Object.entries(change.headers ?? {})) {
    if (value === hidden) yield { path: `headers.${header}`, message }
  }
}

const originOf = (provider: Pick<AiProviderDraft, 'type' | 'base_url'>) => URL.parse(addressOf(provider))?.origin

function scriptFaults(text: string): readonly Fault[] {
  try {
    loadScript(text)
    return []
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return (error as PlatformError<'VALIDATION_FAILED'>).details.errors
  }
}

async function sealedKey(key: string | null | undefined, { id, context: { vault } }: Place) {
  if (key === undefined) return {}
  if (key === null) return { api_key: null, api_key_hint: null }
  return {
    api_key: await vault.seal(key, sealedAt.providerKey(id)),
    // The last characters of a short key would reveal too much of it.
    api_key_hint: key.length >= 16 ? key.slice(-4) : null,
  }
}

/** A masked value that is sent back leaves the stored one unchanged. */
async function sealedHeaders(
  headers: Record<string, string> | null | undefined,
  { id, context: { vault }, before }: Place,
) {
  if (headers === undefined) return {}
  if (headers === null || Object.keys(headers).length === 0) return { headers: null, header_names: null }
  const place = sealedAt.providerHeaders(id)
  const keeps = Object.values(headers).includes(hidden) && before?.headers
  const known: Record<string, string> = keeps ? JSON.parse(vault.open(keeps, place)) : {}
  const values = Object.fromEntries(
    Object.entries(headers).map(([header, value]) => [header, value === hidden ? (known[header] ?? value) : value]),
  )
  return { headers: await vault.seal(JSON.stringify(values), place), header_names: Object.keys(values) }
}
