import type { NewAiProvider } from '../../api.ts'
import { fromPairs, type Pairs } from '../../ui/pairs.tsx'
import type { AiProvider } from '../agents/records.ts'

export type ProviderType = AiProvider['type']

/** The prices of a model, as typed. */
export interface PriceLine {
  readonly model: string
  readonly input: string
  readonly output: string
  readonly cached: string
}

/** An AI provider as edited in the form. */
export interface Draft {
  readonly name: string
  readonly type: ProviderType
  readonly baseUrl: string
  readonly model: string
  readonly prices: readonly PriceLine[]
  readonly record: boolean
  readonly timeout: string
  readonly retries: string
  /** Empty keeps the current key. */
  readonly key: string
  readonly dropsKey: boolean
  /** Null keeps the current headers. */
  readonly headers: Pairs | null
  readonly script: string
}

const firstScript = `# A step answers requests that match its "when". A step without "when" answers at its position in the list.
steps:
  - when: { last_user: hello }
    answer: Hello! What can I do for you?
  - when: {}
    answer: "You said: {{last_user}}"
`

export const emptyDraft: Draft = {
  name: '',
  type: 'openai',
  baseUrl: '',
  model: '',
  prices: [],
  record: false,
  timeout: '120',
  retries: '3',
  key: '',
  dropsKey: false,
  headers: [],
  script: firstScript,
}

export const draftOf = (provider: AiProvider): Draft => ({
  name: provider.name,
  type: provider.type,
  baseUrl: provider.base_url ?? '',
  model: provider.default_model ?? '',
  prices: Object.entries(provider.prices ?? {}).map(([model, { input, output, cached_input }]) => ({
    model,
    input: String(input),
    output: String(output),
    cached: cached_input === undefined ? '' : String(cached_input),
  })),
  record: provider.record,
  timeout: String(provider.timeout_seconds),
  retries: String(provider.max_retries),
  key: '',
  dropsKey: false,
  headers: provider.headers ? null : [],
  script: provider.script ?? '',
})

/** The request body. Secrets that were not entered again are left out. */
export function bodyOf(draft: Draft): NewAiProvider {
  const isReplay = draft.type === 'replay'
  const lines = draft.prices.filter(({ model }) => model.trim() !== '')
  const prices = Object.fromEntries(
    lines.map(({ model, input, output, cached }) => [
      model.trim(),
      {
        input: Number(input),
        output: Number(output),
        ...(cached.trim() !== '' && { cached_input: Number(cached) }),
      },
    ]),
  )
  const headers = draft.headers && fromPairs(draft.headers)
  return {
    name: draft.name.trim(),
    type: draft.type,
    base_url: isReplay ? null : draft.baseUrl.trim() || null,
    default_model: draft.model.trim() || null,
    prices: lines.length === 0 ? null : prices,
    record: draft.record,
    timeout_seconds: Number(draft.timeout),
    max_retries: Number(draft.retries),
    ...(isReplay ? { script: draft.script } : {}),
    ...(draft.dropsKey ? { api_key: null } : draft.key !== '' && !isReplay && { api_key: draft.key }),
    ...(headers && { headers: Object.keys(headers).length > 0 ? headers : null }),
  }
}
