import { z } from 'zod'
import { Text, Timestamp } from './page.ts'
import { Headers, orJsonText } from './tool.ts'

export const providerTypes = ['openai-compatible', 'openai', 'anthropic', 'google', 'replay'] as const
export const ProviderType = z.enum(providerTypes)
export type ProviderType = z.infer<typeof ProviderType>

export const Price = z.strictObject({
  input: z.number().min(0).max(1e6),
  output: z.number().min(0).max(1e6),
  cached_input: z.number().min(0).max(1e6).optional().describe('Price of cached input; defaults to input'),
})

/** US dollars per million tokens. */
export const Prices = z
  .record(z.string().min(1).max(200), Price)
  .refine((prices) => Object.keys(prices).length <= 500, 'at most 500 models')
export type Prices = z.infer<typeof Prices>

/** The fields that a caller sets. */
export const AiProviderFields = {
  name: Text.trim().min(1).max(200),
  type: ProviderType,
  base_url: z
    .string()
    .max(2048)
    .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https URL')
    .refine((url) => {
      const { username = '', password = '' } = URL.parse(url) ?? {}
      return username === '' && password === ''
    }, 'must not contain a user name or password: use api_key or headers')
    .nullable()
    .describe('Base URL of the API, such as https://api.openai.com/v1; required for openai-compatible'),
  default_model: Text.trim().min(1).max(200).nullable().describe('The model for agents that do not set one'),
  prices: orJsonText(Prices)
    .nullable()
    .describe('US dollars per million tokens, by model; "*" applies to all other models'),
  record: z.boolean().describe('Record its responses as a script that a replay provider can play'),
  timeout_seconds: z.number().positive().max(3600).describe('How long to wait for data before the request times out'),
  max_retries: z.int().min(0).max(20).describe('How often to retry a request after a rate limit or a temporary error'),
}

/** The fields that a caller sets and that are never returned. */
export const AiProviderSecrets = {
  api_key: z
    .string()
    .trim()
    .min(1)
    .max(8192)
    .regex(/^[\x20-\x7e]*$/, 'has a character that is not allowed in a header')
    .nullable()
    .describe('Stored encrypted, never returned'),
  headers: orJsonText(Headers)
    .nullable()
    .describe('Sent with every request; the values are stored encrypted and never returned'),
}

export const Script = z
  .union([z.string().max(2_000_000), z.record(z.string(), z.unknown())])
  .nullable()
  .describe('The script of a replay provider, in YAML or JSON')

/** A provider of language models. */
export const AiProvider = z.object({
  id: z.string(),
  project_id: z.string(),
  ...AiProviderFields,
  has_api_key: z.boolean(),
  api_key_hint: z.string().nullable().describe('The last characters of the key'),
  headers: z.record(z.string(), z.string()).nullable().describe('Header names; the values are hidden'),
  script: z.string().nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type AiProvider = z.infer<typeof AiProvider>

/** Used in lists. Without the script, which can be long. */
export const ListedAiProvider = AiProvider.omit({ script: true })
export type ListedAiProvider = z.infer<typeof ListedAiProvider>
