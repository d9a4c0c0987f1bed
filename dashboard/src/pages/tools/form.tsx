import { useState } from 'react'
import type { Tool } from '../../api.ts'
import { useOperations } from '../../operations.ts'
import { Select, Switch, TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { JsonField } from '../../ui/json-field.tsx'
import { PairsField } from '../../ui/pairs.tsx'
import { Panel } from '../../ui/panel.tsx'
import { TypeCards } from '../../ui/type-cards.tsx'
import { type Saving, useForm } from '../../use-form.ts'
import type { Draft, ToolType } from './draft.ts'
import { ParametersField } from './parameters.tsx'

const types: readonly (readonly [ToolType, string, string])[] = [
  ['http', 'HTTP', 'An endpoint of yours: the input becomes a request, the answer the output'],
  ['mcp', 'MCP server', 'Every tool of an MCP server elsewhere, in its own words'],
  ['client', 'Client', 'A function in the application that uses it; the platform hands it the call'],
  ['platform', 'Platform', 'Operations of Quartermaster itself, within its project'],
]

interface Props extends Saving<Draft, Tool> {
  readonly isNew: boolean
}

export function ToolForm({ isNew, ...saving }: Props) {
  const form = useForm(saving)
  const { draft, set, text, faultOf } = form
  const cannotRead = draft.parameters === undefined || draft.presets === undefined
  return (
    <Form form={form} label={isNew ? 'Create the tool' : 'Save'} disabled={cannotRead}>
      {isNew && (
        <TypeCards types={types} value={draft.type} className="lg:grid-cols-4" onChange={(type) => set({ type })} />
      )}
      <Panel title="What it is">
        <div className="grid gap-4 md:grid-cols-2">
          <TextField
            label="Name"
            mono
            required
            {...text('name')}
            hint="The name a model sees, or the start of its actions’ names: letters, digits, _ and -"
          />
          <TextField
            label="App"
            mono
            {...text('app')}
            hint="The slug that its actions are filed under; left empty, one is chosen"
          />
          <div className="md:col-span-2">
            <TextArea
              label="Description"
              rows={3}
              {...text('description')}
              hint="What a model decides by: what it does, and when to use it"
            />
          </div>
        </div>
      </Panel>
      <Where draft={draft} set={set} text={text} faultOf={faultOf} />
      {(draft.type === 'http' || draft.type === 'client') && (
        <Panel title="Input">
          <ParametersField
            value={draft.parameters}
            onChange={(parameters) => set({ parameters })}
            error={faultOf('parameters')}
          />
        </Panel>
      )}
      <Panel title="Limits">
        <div className="grid gap-4 md:grid-cols-3">
          <Select
            label="Level"
            {...text('level')}
            options={[
              ['open', 'Open'],
              ['restricted', 'Restricted'],
              ['administrative', 'Administrative'],
            ]}
            hint="How sensitive it is"
          />
          <Select
            label="Approval"
            {...text('approval')}
            options={[
              ['level', 'Required above level open'],
              ['always', 'Required for every call'],
              ['never', 'Not required'],
            ]}
          />
          <TextField
            label="Approval timeout"
            type="number"
            min={1}
            max={604_800}
            {...text('decideIn', 'approval_timeout_seconds')}
            hint="Seconds. Default: that of the server or the project"
          />
          <div className="md:col-span-2">
            <Switch
              label="Require approval for destructive actions"
              hint="Actions not declared as safe require approval, whatever is chosen above"
              checked={draft.asksDestructive}
              onChange={(asksDestructive) => set({ asksDestructive })}
            />
          </div>
          <TextField
            label="Time limit"
            type="number"
            min={1}
            max={300}
            {...text('timeout', 'timeout_seconds')}
            hint="Seconds. Default: 60"
          />
          <div className="md:col-span-3">
            <JsonField
              label="Presets"
              hint="Fixed input fields. Callers do not see them and cannot override them"
              placeholder={'{ "account": "acme" }'}
              rows={3}
              value={draft.presets}
              onChange={(presets) => set({ presets })}
              error={faultOf('preset_parameters')}
            />
          </div>
        </div>
      </Panel>
    </Form>
  )
}

type PartProps = Pick<ReturnType<typeof useForm<Draft, Tool>>, 'draft' | 'set' | 'text' | 'faultOf'>

function Where(props: PartProps) {
  const { draft, set, text } = props
  const headers = (
    <PairsField
      label="Headers"
      add="Add a header"
      hint="Sent with every request"
      pairs={draft.headers}
      onChange={(pairs) => set({ headers: pairs })}
    />
  )
  if (draft.type === 'http') {
    return (
      <Panel title="Request">
        <div className="space-y-4">
          <div className="grid gap-4 sm:grid-cols-[8rem_minmax(0,1fr)]">
            <Select
              label="Method"
              {...text('method')}
              options={['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'].map((method) => [method, method] as const)}
            />
            <TextField
              label="URL"
              mono
              required
              {...text('url', 'execute')}
              placeholder="https://api.example.com/weather/{city}"
              hint="{name} is replaced by that input field. Other fields go into the query or a JSON body"
            />
          </div>
          {headers}
        </div>
      </Panel>
    )
  }
  if (draft.type === 'mcp') {
    return (
      <Panel title="Server">
        <div className="space-y-4">
          <Select
            label="Transport"
            {...text('runs')}
            options={[
              ['address', 'HTTP (Streamable HTTP or SSE)'],
              ['program', 'stdio (local command)'],
            ]}
          />
          {draft.runs === 'address' ? (
            <>
              <TextField label="URL" mono required {...text('url', 'mcp')} placeholder="https://docs.example.com/mcp" />
              {headers}
            </>
          ) : (
            <>
              <TextField label="Command" mono required {...text('command', 'mcp')} placeholder="npx" />
              <TextArea label="Arguments" mono rows={3} hint="One per line" {...text('args')} />
              <PairsField label="Environment" add="Add a variable" pairs={draft.env} onChange={(env) => set({ env })} />
              <TextField label="Working directory" mono {...text('cwd')} />
            </>
          )}
          <Switch
            label="Pin definitions"
            hint="Block an action whose description changes until you review it"
            checked={draft.pinned}
            onChange={(pinned) => set({ pinned })}
          />
          <Switch
            label="Required"
            hint="The platform does not start while this server is unreachable"
            checked={draft.required}
            onChange={(required) => set({ required })}
          />
        </div>
      </Panel>
    )
  }
  if (draft.type === 'platform') return <PlatformActions {...props} />
  return null
}

function PlatformActions({ draft, set, faultOf }: PartProps) {
  const { data: operations = [] } = useOperations()
  const [text, setText] = useState('')
  const chosen = new Set(draft.actions)
  const actions = operations.filter(
    ({ isAction, command, summary }) => isAction && `${command} ${summary}`.toLowerCase().includes(text.toLowerCase()),
  )
  const toggle = (command: string, isOn: boolean) =>
    set({ actions: isOn ? [...draft.actions, command] : draft.actions.filter((one) => one !== command) })
  return (
    <Panel title="Actions" aside={<span className="text-sm text-soft">{chosen.size} chosen</span>}>
      <input
        type="search"
        aria-label="Search actions"
        placeholder="Search actions"
        className="control mb-2"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {faultOf('actions') && <p className="mb-2 text-xs text-bad">{faultOf('actions')}</p>}
      <ul className="grid max-h-72 gap-x-4 overflow-y-auto sm:grid-cols-2">
        {actions.map(({ command, summary }) => (
          <li key={command}>
            <label className="flex items-start gap-2 rounded-md px-1 py-1 text-sm hover:bg-hover">
              <input
                type="checkbox"
                className="mt-1 accent-accent"
                checked={chosen.has(command)}
                onChange={(event) => toggle(command, event.target.checked)}
              />
              <span className="min-w-0">
                <code className="font-mono text-xs font-semibold">{command}</code>
                <span className="block text-xs text-soft">{summary}</span>
              </span>
            </label>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
