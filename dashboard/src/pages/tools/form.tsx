import { type FormEvent, useState } from 'react'
import { Failure } from '../../api.ts'
import { useOperations } from '../../operations.ts'
import { Button } from '../../ui/button.tsx'
import { Select, Switch, TextArea, TextField } from '../../ui/field.tsx'
import { JsonField } from '../../ui/json-field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { PairsField } from '../../ui/pairs.tsx'
import { Panel } from '../../ui/panel.tsx'
import type { Draft, ToolType } from './draft.ts'
import { ParametersField } from './parameters.tsx'

const types: readonly (readonly [ToolType, string, string])[] = [
  ['http', 'HTTP', 'An endpoint of yours: the input becomes a request, the answer the output'],
  ['mcp', 'MCP server', 'Every tool of an MCP server elsewhere, in its own words'],
  ['client', 'Client', 'A function in the application that uses it; the platform hands it the call'],
  ['platform', 'Platform', 'Operations of Quartermaster itself, within its project'],
]

interface Props {
  readonly start: Draft
  readonly isNew: boolean
  readonly busy: boolean
  readonly error: unknown
  onSave(draft: Draft): void
}

export function ToolForm({ start, isNew, busy, error, onSave }: Props) {
  const [draft, setDraft] = useState(start)
  const set = (change: Partial<Draft>) => setDraft((now) => ({ ...now, ...change }))
  const faults = error instanceof Failure ? error.faults : []
  const faultOf = (path: string) =>
    faults.find(
      (fault) => fault.path === path || fault.path.startsWith(`${path}.`) || fault.path.startsWith(`${path}[`),
    )?.message
  const cannotRead = draft.parameters === undefined || draft.presets === undefined
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSave(draft)
  }

  return (
    <form onSubmit={submit} className="space-y-4">
      {isNew && (
        <fieldset>
          <legend className="sr-only">Type</legend>
          <div className="grid gap-2 sm:grid-cols-2 lg:grid-cols-4">
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
            mono
            required
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
            hint="The name a model sees, or the start of its actions’ names: letters, digits, _ and -"
            error={faultOf('name')}
          />
          <TextField
            label="App"
            mono
            value={draft.app}
            onChange={(event) => set({ app: event.target.value })}
            hint="The slug that its actions are filed under; left empty, one is chosen"
            error={faultOf('app')}
          />
          <div className="md:col-span-2">
            <TextArea
              label="Description"
              rows={3}
              value={draft.description}
              onChange={(event) => set({ description: event.target.value })}
              hint="What a model decides by: what it does, and when to use it"
              error={faultOf('description')}
            />
          </div>
        </div>
      </Panel>
      <Where draft={draft} set={set} faultOf={faultOf} />
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
            value={draft.level}
            onChange={(event) => set({ level: event.target.value as Draft['level'] })}
            options={[
              ['open', 'Open'],
              ['restricted', 'Restricted'],
              ['administrative', 'Administrative'],
            ]}
            hint="How sensitive it is"
          />
          <Select
            label="A person decides"
            value={draft.approval}
            onChange={(event) => set({ approval: event.target.value as Draft['approval'] })}
            options={[
              ['level', 'By the level: above open'],
              ['always', 'Before every call'],
              ['never', 'Never'],
            ]}
          />
          <TextField
            label="Time to decide"
            type="number"
            min={1}
            max={604_800}
            value={draft.decideIn}
            onChange={(event) => set({ decideIn: event.target.value })}
            hint="Seconds; unless given, the server’s or the project’s"
            error={faultOf('approval_timeout_seconds')}
          />
          <div className="md:col-span-2">
            <Switch
              label="Ask about what may destroy"
              hint="A person decides on actions that are not known to be harmless, whatever is chosen above"
              checked={draft.asksDestructive}
              onChange={(asksDestructive) => set({ asksDestructive })}
            />
          </div>
          <TextField
            label="Time limit"
            type="number"
            min={1}
            max={300}
            value={draft.timeout}
            onChange={(event) => set({ timeout: event.target.value })}
            hint="Seconds; 60 unless given"
            error={faultOf('timeout_seconds')}
          />
          <div className="md:col-span-3">
            <JsonField
              label="Presets"
              hint="Fields of the input that are fixed: hidden from everyone, and they always win"
              placeholder={'{ "account": "acme" }'}
              rows={3}
              value={draft.presets}
              onChange={(presets) => set({ presets })}
              error={faultOf('preset_parameters')}
            />
          </div>
        </div>
      </Panel>
      <ErrorNotice error={error} />
      <Button look="main" type="submit" busy={busy} disabled={cannotRead}>
        {isNew ? 'Create the tool' : 'Save'}
      </Button>
    </form>
  )
}

interface PartProps {
  readonly draft: Draft
  set(change: Partial<Draft>): void
  faultOf(path: string): string | undefined
}

function Where(props: PartProps) {
  const { draft, set, faultOf } = props
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
              value={draft.method}
              onChange={(event) => set({ method: event.target.value })}
              options={['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'].map((method) => [method, method] as const)}
            />
            <TextField
              label="URL"
              mono
              required
              value={draft.url}
              placeholder="https://api.example.com/weather/{city}"
              onChange={(event) => set({ url: event.target.value })}
              hint="{name} is replaced by the input of that name; the rest goes into the query, or into a JSON body"
              error={faultOf('execute')}
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
            label="It is"
            value={draft.runs}
            onChange={(event) => set({ runs: event.target.value as Draft['runs'] })}
            options={[
              ['address', 'at an address (Streamable HTTP or SSE)'],
              ['program', 'a program that this machine starts (stdio)'],
            ]}
          />
          {draft.runs === 'address' ? (
            <>
              <TextField
                label="URL"
                mono
                required
                value={draft.url}
                placeholder="https://docs.example.com/mcp"
                onChange={(event) => set({ url: event.target.value })}
                error={faultOf('mcp')}
              />
              {headers}
            </>
          ) : (
            <>
              <TextField
                label="Command"
                mono
                required
                value={draft.command}
                placeholder="npx"
                onChange={(event) => set({ command: event.target.value })}
                error={faultOf('mcp')}
              />
              <TextArea
                label="Arguments"
                mono
                rows={3}
                hint="One on each line"
                value={draft.args}
                onChange={(event) => set({ args: event.target.value })}
              />
              <PairsField label="Environment" add="Add a variable" pairs={draft.env} onChange={(env) => set({ env })} />
              <TextField
                label="Working folder"
                mono
                value={draft.cwd}
                onChange={(event) => set({ cwd: event.target.value })}
              />
            </>
          )}
          <Switch
            label="Hold back what changes"
            hint="An action that is suddenly described otherwise is withheld until you accept it"
            checked={draft.pinned}
            onChange={(pinned) => set({ pinned })}
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
