import { z } from 'zod'
import { Text, Timestamp } from './page.ts'
import { Headers, orJsonText } from './tool.ts'

export const providerTypes = ['openai-compatible', 'openai', 'anthropic', 'google', 'replay'] as const
export const ProviderType = z.enum(providerTypes)
export type ProviderType = z.infer<typeof ProviderType>

const Price = z.strictObject({
  input: z.number().min(0).max(1e6),
  output: z.number().min(0).max(1e6),
  cached_input: z
    .number()
    .min(0)
    .max(1e6)
    .optional()
    .describe('Of input that the provider had kept; input unless given'),
})

/** US dollars per million tokens. */
export const Prices = z
  .record(z.string().min(1).max(200), Price)
  .refine((prices) => Object.keys(prices).length <= 500, 'at most 500 models')
export type Prices = z.infer<typeof Prices>

/** What a caller sets. */
export const AiProviderFields = {
  name: Text.trim().min(1).max(200),
  type: ProviderType,
  base_url: z
    .string()
    .max(2048)
    .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https address')
    .refine((url) => {
      const { username = '', password = '' } = URL.parse(url) ?? {}
      return username === '' && password === ''
    }, 'must not hold a user name or password: use api_key or headers')
    .nullable()
    .describe('Where the API begins, as in https://api.openai.com/v1; openai-compatible needs it'),
  default_model: Text.trim().min(1).max(200).nullable().describe('The model of agents that name none'),
  prices: orJsonText(Prices).nullable().describe('US dollars per million tokens, by model; "*" is for every other one'),
  record: z.boolean().describe('Whether its answers are recorded into a script that replay can play'),
  timeout_seconds: z.number().positive().max(3600).describe('How long it may send nothing'),
  max_retries: z.int().min(0).max(20).describe('How often a request is repeated that the provider could not take'),
}

/** What a caller sets and nobody is shown again. */
export const AiProviderSecrets = {
  api_key: z
    .string()
    .trim()
    .min(1)
    .max(8192)
    .regex(/^[\x20-\x7e]*$/, 'has a character that a header cannot hold')
    .nullable()
    .describe('Kept sealed, never returned'),
  headers: orJsonText(Headers)
    .nullable()
    .describe('Sent with every request; the values are kept sealed and never returned'),
}

export const Script = z
  .union([z.string().max(2_000_000), z.record(z.string(), z.unknown())])
  .nullable()
  .describe('What a replay provider answers: a script in YAML or JSON')

/** Where language models are asked. */
export const AiProvider = z.object({
  id: z.string(),
  project_id: z.string(),
  ...AiProviderFields,
  has_api_key: z.boolean(),
  api_key_hint: z.string().nullable().describe('The key’s last characters'),
  headers: z.record(z.string(), z.string()).nullable().describe('Their names; the values are hidden'),
  script: z.string().nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type AiProvider = z.infer<typeof AiProvider>

/** As lists show it: a script can be long. */
export const ListedAiProvider = AiProvider.omit({ script: true })
export type ListedAiProvider = z.infer<typeof ListedAiProvider>
