import { Link } from '@tanstack/react-router'
import { useTools } from '../../queries.ts'
import { Button, buttonLook, IconButton } from '../../ui/button.tsx'
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
  /** Where tools and providers must be, once that is known. */
  readonly projectId: string | undefined
}

export function AgentForm({ isNew, projectId, ...saving }: Props) {
  const isHere = (record: { project_id: string | null }) => !projectId || record.project_id === projectId
  const { data: allProviders, error: providersError } = useAiProviders()
  const { data: allTools = [] } = useTools()
  const providers = (allProviders ?? []).filter(isHere)
  const tools = allTools.filter(isHere)
  // Where there is a provider, one is chosen.
  const chosen = (draft: Draft) => ({ ...draft, providerId: draft.providerId || (providers[0]?.id ?? '') })
  const form = useForm({ ...saving, save: (draft) => saving.save(chosen(draft)) })
  const { set, text, faultOf } = form
  const draft = chosen(form.draft)
  const names = useModelNames(tools.filter(({ id }) => draft.toolIds.includes(id)))
  const known = [...new Set([...names.values()].flat())].sort()
  const provider = providers.find(({ id }) => id === draft.providerId)
  const cannotRead = draft.stepRules === undefined || draft.boundary === undefined

  if (allProviders && providers.length === 0) {
    return (
      <Empty
        title="First, a model"
        action={
          <Link to="/ai-providers/new" className={buttonLook('main')}>
            Add an AI provider
          </Link>
        }
      >
        An agent needs somewhere to ask. Add a provider, or a script that stands in for one.
      </Empty>
    )
  }
  return (
    <Form form={form} label={isNew ? 'Create the agent' : 'Save'} disabled={cannotRead}>
      <ErrorNotice error={providersError} />
      <Panel title="What it is">
        <div className="grid gap-4 md:grid-cols-3">
          <TextField label="Name" required {...text('name')} />
          <Select
            label="AI provider"
            {...text('providerId', 'ai_provider_id')}
            value={draft.providerId}
            options={[
              ...(provider || draft.providerId === ''
                ? []
                : [[draft.providerId, `${draft.providerId} (gone)`] as const]),
              ...providers.map(({ id, name, type }) => [id, `${name} (${type})`] as const),
            ]}
          />
          <TextField
            label="Model"
            mono
            {...text('model')}
            placeholder={provider ? modelOf(null, provider) : ''}
            hint="Left empty: the provider’s default"
          />
          <div className="md:col-span-3">
            <TextArea
              label="Instructions"
              rows={14}
              {...text('instructions')}
              placeholder="You help the customers of a shop. Look an order up before you say anything about it."
              hint="What the model is told first: who it is, what it does, what it leaves alone"
            />
          </div>
        </div>
      </Panel>
      <Panel title="Tools" aside={<span className="text-sm text-soft">{draft.toolIds.length} chosen</span>}>
        <ToolPicker
          tools={tools}
          chosen={draft.toolIds}
          onChange={(toolIds) => set({ toolIds })}
          names={names}
          error={faultOf('tool_ids') ?? faultOf('active_tool_ids')}
        />
        {draft.activeToolIds && (
          <p className="mt-2 flex flex-wrap items-center gap-2 text-sm text-soft">
            The model is told of {draft.activeToolIds.length} of them only.
            <Button onClick={() => set({ activeToolIds: null })}>Tell it of all</Button>
          </p>
        )}
      </Panel>
      <Panel title="How it runs">
        <div className="grid gap-4 md:grid-cols-2 lg:grid-cols-4">
          <Select
            label="Tool choice"
            {...text('toolChoice', 'tool_choice')}
            options={[
              ['auto', 'The model decides'],
              ['required', 'It must call some tool'],
              ['none', 'It calls none'],
              ...withCurrent(known, draft.toolChoice.startsWith('tool:') ? draft.toolChoice.slice(5) : '').map(
                (name) => [`tool:${name}`, `It must call ${name}`] as const,
              ),
            ]}
          />
          <TextField
            label="Steps at most"
            type="number"
            min={1}
            max={200}
            required
            {...text('maxSteps', 'max_steps')}
            hint="Each asks the model once"
          />
          <TextField
            label="Temperature"
            type="number"
            min={0}
            max={2}
            step="any"
            {...text('temperature')}
            hint="Left empty: the model’s own"
          />
          <TextField
            label="Messages it sees"
            type="number"
            min={1}
            max={10_000}
            {...text('maxContext', 'max_context_messages')}
            hint="The latest so many; left empty: all"
          />
        </div>
        <StopConditions
          names={known}
          stopAt={draft.stopAt}
          onChange={(stopAt) => set({ stopAt })}
          error={faultOf('stop_conditions')}
        />
      </Panel>
      <Panel title="Rules">
        <div className="grid gap-4 lg:grid-cols-2">
          <JsonField
            label="Step rules"
            hint="What is different at some steps: tool_choice, active_tool_ids"
            placeholder={'[{ "step": 1, "tool_choice": "required" }]'}
            rows={5}
            value={draft.stepRules}
            onChange={(stepRules) => set({ stepRules })}
            error={faultOf('step_rules')}
          />
          <JsonField
            label="Boundary policy"
            hint="What its platform tools may do at most, whoever runs it"
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

/** What is set stays a choice, also while it is not known whether it is there. */
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
          // biome-ignore lint/suspicious/noArrayIndexKey: the same name may be there twice while it is chosen
          <div key={index} className="flex max-w-md items-center gap-1.5 text-sm">
            <span className="whitespace-nowrap text-soft">after a call of</span>
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
              label={`Remove the stop condition ${name}`}
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
      <p className="mt-1 text-xs text-soft">Any of these ends the run, as soon as the call has ended</p>
    </fieldset>
  )
}
