import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Switch, TextArea, TextField } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { PairsField } from '../../ui/pairs.tsx'
import { Panel } from '../../ui/panel.tsx'
import { faultsOf } from '../agents/faults.ts'
import type { AiProvider } from '../agents/records.ts'
import type { Draft, ProviderType } from './draft.ts'
import { PricesField } from './prices.tsx'

const types: readonly (readonly [ProviderType, string, string])[] = [
  ['openai', 'OpenAI', 'With a key of yours'],
  ['anthropic', 'Anthropic', 'With a key of yours'],
  ['google', 'Google', 'Gemini, with a key of yours'],
  ['openai-compatible', 'OpenAI-compatible', 'Ollama, vLLM, a gateway: whatever speaks OpenAI’s protocol'],
  ['replay', 'Replay', 'A script stands in for a model: offline, for nothing, the same every time'],
]

const addresses: Partial<Record<ProviderType, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  'openai-compatible': 'http://127.0.0.1:11434/v1',
}

export const typeName = (type: string): string => types.find(([known]) => known === type)?.[1] ?? type

interface Props {
  readonly start: Draft
  /** What is there already. */
  readonly provider: AiProvider | undefined
  readonly busy: boolean
  readonly error: unknown
  readonly isSaved?: boolean
  onSave(draft: Draft): void
}

export function ProviderForm({ start, provider, busy, error, isSaved = false, onSave }: Props) {
  const [draft, setDraft] = useState(start)
  const [isTouched, setTouched] = useState(false)
  const set = (change: Partial<Draft>) => {
    setTouched(true)
    setDraft((now) => ({ ...now, ...change }))
  }
  const faultOf = faultsOf(error)
  const isReplay = draft.type === 'replay'
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault()
        onSave(draft)
      }}
    >
      {!provider && (
        <fieldset>
          <legend className="sr-only">Type</legend>
          <div className="grid gap-2 sm:grid-cols-2 lg:grid-cols-5">
            {types.map(([type, name, about]) => (
              <label
                key={type}
                className="cursor-pointer rounded-lg border border-line bg-panel p-3 has-checked:border-accent has-checked:bg-accent-wash has-focus-visible:outline-2 has-focus-visible:outline-accent"
              >
                <input
                  type="radio"
                  name="type"
                  value={type}
                  checked={draft.type === type}
                  onChange={() => set({ type })}
                  className="sr-only"
                />
                <span className="text-sm font-semibold">{name}</span>
                <span className="block text-xs text-soft">{about}</span>
              </label>
            ))}
          </div>
        </fieldset>
      )}
      <Panel title="What it is">
        <div className="grid gap-4 md:grid-cols-2">
          <TextField
            label="Name"
            required
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
            error={faultOf('name')}
          />
          <TextField
            label="Default model"
            mono
            value={draft.model}
            onChange={(event) => set({ model: event.target.value })}
            hint="The model of agents that name none"
            error={faultOf('default_model')}
          />
        </div>
      </Panel>
      {isReplay ? (
        <Panel title="Script">
          <TextArea
            label="What it answers, in YAML or JSON"
            mono
            required
            rows={18}
            value={draft.script}
            onChange={(event) => set({ script: event.target.value })}
            hint="Steps with when and answer; an answer has text, tool_calls, reasoning, usage and delay_ms"
            error={faultOf('script')}
          />
        </Panel>
      ) : (
        <Address draft={draft} provider={provider} set={set} faultOf={faultOf} />
      )}
      <Panel title="Cost and limits">
        <div className="space-y-4">
          <PricesField prices={draft.prices} onChange={(prices) => set({ prices })} error={faultOf('prices')} />
          <div className="grid gap-4 md:grid-cols-3">
            <TextField
              label="Patience"
              type="number"
              min={1}
              max={3600}
              step="any"
              required
              value={draft.timeout}
              onChange={(event) => set({ timeout: event.target.value })}
              hint="Seconds that it may send nothing"
              error={faultOf('timeout_seconds')}
            />
            <TextField
              label="Retries"
              type="number"
              min={0}
              max={20}
              required
              value={draft.retries}
              onChange={(event) => set({ retries: event.target.value })}
              hint="Of requests that it could not take"
              error={faultOf('max_retries')}
            />
            <div className="md:pt-6">
              <Switch
                label="Record"
                hint="Keeps its last 200 answers as a script that a replay provider plays"
                checked={draft.record}
                onChange={(record) => set({ record })}
              />
            </div>
          </div>
        </div>
      </Panel>
      <ErrorNotice error={error} />
      <div className="flex items-center gap-3">
        <Button look="main" type="submit" busy={busy}>
          {provider ? 'Save' : 'Create the AI provider'}
        </Button>
        <span role="status" className="text-sm text-soft">
          {isSaved && !isTouched ? 'Saved' : ''}
        </span>
      </div>
    </form>
  )
}

function Address({
  draft,
  provider,
  set,
  faultOf,
}: {
  draft: Draft
  provider: AiProvider | undefined
  set(change: Partial<Draft>): void
  faultOf(path: string): string | undefined
}) {
  const needsUrl = draft.type === 'openai-compatible'
  return (
    <Panel title="Where it is">
      <div className="space-y-4">
        <div className="grid gap-4 md:grid-cols-2">
          <TextField
            label="Base URL"
            mono
            required={needsUrl}
            value={draft.baseUrl}
            placeholder={addresses[draft.type]}
            onChange={(event) => set({ baseUrl: event.target.value })}
            hint={needsUrl ? 'Where its API begins, mostly with /v1 at the end' : 'Left empty: the usual one'}
            error={faultOf('base_url')}
          />
          <div>
            <TextField
              label="API key"
              type="password"
              autoComplete="new-password"
              mono
              disabled={draft.dropsKey}
              value={draft.key}
              placeholder={provider?.has_api_key ? `ends in ${provider.api_key_hint ?? '…'}` : ''}
              onChange={(event) => set({ key: event.target.value })}
              hint={
                provider?.has_api_key
                  ? 'There is one, and nobody is shown it again. Left empty, it stays.'
                  : 'Kept sealed; nobody is shown it again'
              }
              error={faultOf('api_key')}
            />
            {provider?.has_api_key && (
              <label className="mt-1.5 flex w-fit cursor-pointer items-center gap-1.5 text-sm">
                <input
                  type="checkbox"
                  className="accent-accent"
                  checked={draft.dropsKey}
                  onChange={(event) => set({ dropsKey: event.target.checked })}
                />
                Remove the key
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
              with values that nobody is shown again.
            </p>
            <Button onClick={() => set({ headers: [] })}>Write them anew</Button>
          </div>
        ) : (
          <PairsField
            label="Headers"
            add="Add a header"
            hint="Sent with every request; their values are kept sealed"
            pairs={draft.headers}
            onChange={(headers) => set({ headers })}
          />
        )}
        {faultOf('headers') && <p className="text-xs text-bad">{faultOf('headers')}</p>}
      </div>
    </Panel>
  )
}
