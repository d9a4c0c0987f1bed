import { PlatformError } from '../model/errors.ts'
import type { Run } from '../store/generations.ts'
import type { Store } from '../store/store.ts'
import type { RunModel } from './loop.ts'
import type { Models } from './models/model.ts'

/** The model of a run's agent, with the current settings of its provider. */
export async function modelOf({ settings }: Run, store: Store, models: Models): Promise<RunModel> {
  const provider = await store.aiProviders.find(settings.ai_provider_id)
  if (!provider) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'ai-provider', id: settings.ai_provider_id })
  // A replay script accepts any model name.
  const model = settings.model ?? provider.default_model ?? (provider.type === 'replay' ? 'replay' : null)
  if (model === null) {
    const message = 'is missing: set a model on the agent or default_model on its AI provider'
    throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'model', message }] })
  }
  return {
    generate: (request) => models.generate(provider, { ...request, model }),
    costOf: ({ usage, model: answered }) =>
      models.costOf(provider, answered, usage) ?? models.costOf(provider, model, usage),
  }
}
