import { Button } from '../../ui/button.tsx'
import { Switch, TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { PairsField } from '../../ui/pairs.tsx'
import { Panel } from '../../ui/panel.tsx'
import { TypeCards } from '../../ui/type-cards.tsx'
import { type Saving, useForm } from '../../use-form.ts'
import type { AiProvider } from '../agents/records.ts'
import type { Draft, ProviderType } from './draft.ts'
import { PricesField } from './prices.tsx'

const types: readonly (readonly [ProviderType, string, string])[] = [
  ['openai', 'OpenAI', 'With your API key'],
  ['anthropic', 'Anthropic', 'With your API key'],
  ['google', 'Google', 'Gemini, with your API key'],
  ['openai-compatible', 'OpenAI-compatible', 'Ollama, vLLM, gateways and other compatible servers'],
  ['replay', 'Replay', 'A script instead of a model: offline, free and repeatable'],
]

const addresses: Partial<Record<ProviderType, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  'openai-compatible': 'http://127.0.0.1:11434/v1',
}

export const typeName = (type: string): string => types.find(([known]) => known === type)?.[1] ?? type

interface Props extends Saving<Draft, AiProvider> {
  /** The provider as saved. */
  readonly provider: AiProvider | undefined
}

export function ProviderForm({ provider, ...saving }: Props) {
  const form = useForm(saving)
  const { draft, set, text, faultOf } = form
  const isReplay = draft.type === 'replay'
  return (
    <Form form={form} label={provider ? 'Save' : 'Create AI provider'}>
      {!provider && (
        <TypeCards types={types} value={draft.type} className="lg:grid-cols-5" onChange={(type) => set({ type })} />
      )}
      <Panel title="General">
        <div className="grid gap-4 md:grid-cols-2">
          <TextField label="Name" required {...text('name')} />
          <TextField
            label="Default model"
            mono
            {...text('model', 'default_model')}
            hint="Used by agents that do not set a model"
          />
        </div>
      </Panel>
      {isReplay ? (
        <Panel title="Script">
          <TextArea
            label="Script (YAML or JSON)"
            mono
            required
            rows={18}
            {...text('script')}
            hint="A list of steps with when and answer. An answer can have text, tool_calls, reasoning, usage and delay_ms"
          />
        </Panel>
      ) : (
        <Address form={form} provider={provider} />
      )}
      <Panel title="Cost and limits">
        <div className="space-y-4">
          <PricesField prices={draft.prices} onChange={(prices) => set({ prices })} error={faultOf('prices')} />
          <div className="grid gap-4 md:grid-cols-3">
            <TextField
              label="Timeout"
              type="number"
              min={1}
              max={3600}
              step="any"
              required
              {...text('timeout', 'timeout_seconds')}
              hint="Seconds without data before a request fails"
            />
            <TextField
              label="Retries"
              type="number"
              min={0}
              max={20}
              required
              {...text('retries', 'max_retries')}
              hint="For requests that failed temporarily"
            />
            <div className="md:pt-6">
              <Switch
                label="Record"
                hint="Records the last 200 responses as a script for a replay provider"
                checked={draft.record}
                onChange={(record) => set({ record })}
              />
            </div>
          </div>
        </div>
      </Panel>
    </Form>
  )
}

function Address({
  form: { draft, set, text, faultOf },
  provider,
}: {
  form: ReturnType<typeof useForm<Draft, AiProvider>>
  provider: AiProvider | undefined
}) {
  const needsUrl = draft.type === 'openai-compatible'
  return (
    <Panel title="Connection">
      <div className="space-y-4">
        <div className="grid gap-4 md:grid-cols-2">
          <TextField
            label="Base URL"
            mono
            required={needsUrl}
            {...text('baseUrl', 'base_url')}
            placeholder={addresses[draft.type]}
            hint={needsUrl ? 'Usually ends in /v1' : 'Default: the official API'}
          />
          <div>
            <TextField
              label="API key"
              type="password"
              autoComplete="new-password"
              mono
              disabled={draft.dropsKey}
              {...text('key', 'api_key')}
              placeholder={provider?.has_api_key ? `ends in ${provider.api_key_hint ?? '…'}` : ''}
              hint={
                provider?.has_api_key
                  ? 'A key is set and cannot be shown. Leave empty to keep it.'
                  : 'Stored encrypted and never shown again'
              }
            />
            {provider?.has_api_key && (
              <label className="mt-1.5 flex w-fit cursor-pointer items-center gap-1.5 text-sm">
                <input
                  type="checkbox"
                  className="accent-accent"
                  checked={draft.dropsKey}
                  onChange={(event) => set({ dropsKey: event.target.checked })}
                />
                Remove key
              </label>
            )}
          </div>
        </div>
        {draft.headers === null ? (
          <div className="text-sm">
            <p className="mb-1 font-medium">Headers</p>
            <p className="mb-2 text-soft">
              {Object.keys(provider?.headers ?? {}).map((name) => (
                <code key={name} className="mr-2 font-mono text-xs">
                  {name}
                </code>
              ))}
              are set. Their values cannot be shown.
            </p>
            <Button onClick={() => set({ headers: [] })}>Replace headers</Button>
          </div>
        ) : (
          <PairsField
            label="Headers"
            add="Add a header"
            hint="Sent with every request. Values are stored encrypted"
            pairs={draft.headers}
            onChange={(headers) => set({ headers })}
          />
        )}
        {faultOf('headers') && <p className="text-xs text-bad">{faultOf('headers')}</p>}
      </div>
    </Panel>
  )
}
