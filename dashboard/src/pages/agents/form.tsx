import { Link } from '@tanstack/react-router'
import { useModes, useTools } from '../../queries.ts'
import { Button, buttonClass, IconButton } from '../../ui/button.tsx'
import { Select, TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { JsonField } from '../../ui/json-field.tsx'
import { Empty, ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { type Saving, useForm } from '../../use-form.ts'
import { modelOf } from './agents.tsx'
import type { Draft } from './draft.ts'
import { type Agent, useAiProviders } from './records.ts'
import { ToolPicker, useModelNames } from './tool-picker.tsx'

interface Props extends Saving<Draft, Agent> {
  readonly isNew: boolean
  /** The project of the tools and providers, once it is modelNames. */
  readonly projectId: string | undefined
}

export function AgentForm({ isNew, projectId, ...saving }: Props) {
  const isHere = (record: { project_id: string | null }) => !projectId || record.project_id === projectId
  const { data: allProviders, error: providersError } = useAiProviders()
  const { data: allTools = [] } = useTools()
  const { data: allModes = [] } = useModes()
  const providers = (allProviders ?? []).filter(isHere)
  const tools = allTools.filter(isHere)
  // Preselect a provider.
  const chosen = (draft: Draft) => ({ ...draft, providerId: draft.providerId || (providers[0]?.id ?? '') })
  const form = useForm({ ...saving, save: (draft) => saving.save(chosen(draft)) })
  const { set, text, faultOf } = form
  const draft = chosen(form.draft)
  const names = useModelNames(tools.filter(({ id }) => draft.toolIds.includes(id)))
  const modelNames = [...new Set([...names.values()].flat())].sort()
  const provider = providers.find(({ id }) => id === draft.providerId)
  const cannotRead = draft.stepRules === undefined || draft.boundary === undefined

  if (allProviders && providers.length === 0) {
    return (
      <Empty
        title="Add a model first"
        action={
          <Link to="/ai-providers/new" className={buttonClass('main')}>
            Add an AI provider
          </Link>
        }
      >
        Agents need an AI provider. Add one, or use a replay script instead.
      </Empty>
    )
  }
  return (
    <Form form={form} label={isNew ? 'Create agent' : 'Save'} disabled={cannotRead}>
      <ErrorNotice error={providersError} />
      <Panel title="General">
        <div className="grid gap-4 md:grid-cols-3">
          <TextField label="Name" required {...text('name')} />
          <Select
            label="AI provider"
            {...text('providerId', 'ai_provider_id')}
            value={draft.providerId}
            options={[
              ...(provider || draft.providerId === ''
                ? []
                : [[draft.providerId, `${draft.providerId} (deleted)`] as const]),
              ...providers.map(({ id, name, type }) => [id, `${name} (${type})`] as const),
            ]}
          />
          <TextField
            label="Model"
            mono
            {...text('model')}
            placeholder={provider ? modelOf(null, provider) : ''}
            hint="Default: the provider’s default model"
          />
          <div className="md:col-span-3">
            <TextArea
              label="Instructions"
              rows={14}
              {...text('instructions')}
              placeholder="You help the customers of a shop. Look up the order before you answer."
              hint="System prompt: the agent’s role, tasks and limits"
            />
          </div>
        </div>
      </Panel>
      <Panel title="Tools" aside={<span className="text-sm text-soft">{draft.toolIds.length} selected</span>}>
        <ToolPicker
          tools={tools}
          chosen={draft.toolIds}
          onChange={(toolIds) => set({ toolIds })}
          names={names}
          error={faultOf('tool_ids') ?? faultOf('active_tool_ids')}
        />
        {draft.activeToolIds && (
          <p className="mt-2 flex flex-wrap items-center gap-2 text-sm text-soft">
            Only {draft.activeToolIds.length} of these tools are offered to the model.
            <Button onClick={() => set({ activeToolIds: null })}>Offer all</Button>
          </p>
        )}
      </Panel>
      <Panel title="Execution">
        <div className="grid gap-4 md:grid-cols-2 lg:grid-cols-4">
          <Select
            label="Tool choice"
            {...text('toolChoice', 'tool_choice')}
            options={[
              ['auto', 'Auto: the model decides'],
              ['required', 'Required: any tool'],
              ['none', 'None'],
              ...withCurrent(modelNames, draft.toolChoice.startsWith('tool:') ? draft.toolChoice.slice(5) : '').map(
                (name) => [`tool:${name}`, `Required: ${name}`] as const,
              ),
            ]}
          />
          <TextField
            label="Maximum steps"
            type="number"
            min={1}
            max={200}
            required
            {...text('maxSteps', 'max_steps')}
            hint="Each step is one request to the model"
          />
          <TextField
            label="Temperature"
            type="number"
            min={0}
            max={2}
            step="any"
            {...text('temperature')}
            hint="Default: set by the model"
          />
          <TextField
            label="Context messages"
            type="number"
            min={1}
            max={10_000}
            {...text('maxContext', 'max_context_messages')}
            hint="Only the latest are sent to the model. Default: all"
          />
          {(allModes.length > 0 || draft.mode !== '') && (
            <Select
              label="Mode"
              {...text('mode')}
              hint="Limits its calls, in addition to the mode of the caller"
              options={[
                ['', 'None'],
                ...withCurrent(
                  allModes.filter(isHere).map(({ slug }) => slug),
                  draft.mode,
                ).map((slug) => [slug, slug] as const),
              ]}
            />
          )}
        </div>
        <StopConditions
          names={modelNames}
          stopAt={draft.stopAt}
          onChange={(stopAt) => set({ stopAt })}
          error={faultOf('stop_conditions')}
        />
      </Panel>
      <Panel title="Rules">
        <div className="grid gap-4 lg:grid-cols-2">
          <JsonField
            label="Step rules"
            hint="Overrides tool_choice or active_tool_ids for specific steps"
            placeholder={'[{ "step": 1, "tool_choice": "required" }]'}
            rows={5}
            value={draft.stepRules}
            onChange={(stepRules) => set({ stepRules })}
            error={faultOf('step_rules')}
          />
          <JsonField
            label="Boundary policy"
            hint="Limits what its platform tools can do, no matter who runs the agent"
            placeholder={'{ "statement": [{ "effect": "Allow", "action": ["documents:*"] }] }'}
            rows={5}
            value={draft.boundary}
            onChange={(boundary) => set({ boundary })}
            error={faultOf('boundary_policy')}
          />
        </div>
      </Panel>
    </Form>
  )
}

/** Adds the current value to the options, because it may no longer exist. */
const withCurrent = (names: readonly string[], current: string): readonly string[] =>
  current === '' || names.includes(current) ? names : [current, ...names]

function StopConditions({
  names,
  stopAt,
  onChange,
  error,
}: {
  names: readonly string[]
  stopAt: readonly string[]
  onChange: (names: readonly string[]) => void
  error: string | undefined
}) {
  return (
    <fieldset className="mt-4 min-w-0">
      <legend className="mb-1 text-sm font-medium">Stop conditions</legend>
      <div className="space-y-1.5">
        {stopAt.map((name, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: names are not unique while editing
          <div key={index} className="flex max-w-md items-center gap-1.5 text-sm">
            <span className="whitespace-nowrap text-soft">after a call to</span>
            <select
              aria-label={`Stop condition ${index + 1}`}
              className="control font-mono text-sm"
              value={name}
              onChange={(event) => onChange(stopAt.with(index, event.target.value))}
            >
              {withCurrent(names, name).map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
            <IconButton
              label={`Remove stop condition ${name}`}
              icon="close"
              onClick={() => onChange(stopAt.toSpliced(index, 1))}
            />
          </div>
        ))}
        <Button
          icon="plus"
          disabled={names.length === 0}
          title={names.length === 0 ? 'Choose a tool first' : undefined}
          onClick={() => onChange([...stopAt, names[0] ?? ''])}
        >
          Add a stop condition
        </Button>
      </div>
      {error && <p className="mt-1 text-xs text-bad">{error}</p>}
      <p className="mt-1 text-xs text-soft">The run ends after a call to any of these tools</p>
    </fieldset>
  )
}
