import { PlatformError } from '../model/errors.ts'
import type { Run } from '../store/generations.ts'
import type { Store } from '../store/store.ts'
import type { Asking } from './loop.ts'
import type { Models } from './models/model.ts'

/** The model that a run's agent speaks with, as its provider is set up now. */
export async function modelOf({ settings }: Run, store: Store, models: Models): Promise<Asking> {
  const provider = await store.aiProviders.find(settings.ai_provider_id)
  if (!provider) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'ai-provider', id: settings.ai_provider_id })
  // A script answers to any name.
  const model = settings.model ?? provider.default_model ?? (provider.type === 'replay' ? 'replay' : null)
  if (model === null) {
    const message = 'neither the agent nor its AI provider says which model to use'
    throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'model', message }] })
  }
  return {
    ask: (request) => models.ask(provider, { ...request, model }),
    costOf: ({ usage, model: answered }) =>
      models.costOf(provider, answered, usage) ?? models.costOf(provider, model, usage),
  }
}
