import type { ProviderType } from '../../model/ai-provider.ts'
import type { AiProviderRecord } from '../../store/ai-providers.ts'

const addresses: Partial<Record<ProviderType, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
}

/** The base URL of a provider, without a trailing slash. */
export const addressOf = ({ type, base_url }: Pick<AiProviderRecord, 'type' | 'base_url'>): string =>
  (base_url ?? addresses[type] ?? '').replace(/\/+$/, '')
