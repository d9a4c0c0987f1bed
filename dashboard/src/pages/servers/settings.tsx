import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, Failure, qm, type Server } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { DeletePanel } from '../../ui/delete-panel.tsx'
import { Select, Switch, TextArea, TextField } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { useSaveServer } from './use-server.ts'

export function ServerSettings({ server }: { server: Server }) {
  const [draft, setDraft] = useState({
    name: server.name,
    slug: server.slug,
    description: server.description ?? '',
    tool_names: server.tool_names,
    limit: server.result_limit === null ? '' : String(server.result_limit),
    decideIn: server.approval_timeout_seconds === null ? '' : String(server.approval_timeout_seconds),
  })
  const navigate = useNavigate()
  const remove = useAction(() => ask(qm.servers.deleteServer({ path: { server_id: server.id } })), {
    changes: ['servers'],
    onDone: () => void navigate({ to: '/servers' }),
  })
  const toggle = useSaveServer(server)
  const save = useSaveServer(server)
  const set = (change: Partial<typeof draft>) => setDraft((now) => ({ ...now, ...change }))
  const faultOf = (path: string) =>
    save.error instanceof Failure ? save.error.faults.find((fault) => fault.path === path)?.message : undefined
  return (
    <div className="max-w-2xl space-y-4">
      <Panel title="Switches">
        <div className="space-y-4">
          <Switch
            label="On"
            hint="Off: the endpoint answers that it is not there"
            checked={server.enabled}
            disabled={toggle.busy}
            onChange={(enabled) => toggle.run({ enabled })}
          />
          <Switch
            label="Agent mode"
            hint="Two tools that find and run actions, instead of one tool for each action"
            checked={server.agent_mode}
            disabled={toggle.busy}
            onChange={(agent_mode) => toggle.run({ agent_mode })}
          />
          <Switch
            label="Skills"
            hint="Adds the tools that list and load skills"
            checked={server.retrieve_skill}
            disabled={toggle.busy}
            onChange={(retrieve_skill) => toggle.run({ retrieve_skill })}
          />
          <Switch
            label="A person decides"
            hint="Every call through this server waits for approval; off leaves it to tools and rules"
            checked={server.auto_approve === false}
            disabled={toggle.busy}
            onChange={(isOn) => toggle.run({ auto_approve: isOn ? false : null })}
          />
          <ErrorNotice error={toggle.error} />
        </div>
      </Panel>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save.run({
            name: draft.name,
            slug: draft.slug,
            description: draft.description.trim() || null,
            tool_names: draft.tool_names,
            result_limit: draft.limit === '' ? null : Number(draft.limit),
            approval_timeout_seconds: draft.decideIn === '' ? null : Number(draft.decideIn),
          })
        }}
      >
        <Panel title="How it appears">
          <div className="space-y-4">
            <TextField
              label="Name"
              required
              value={draft.name}
              onChange={(event) => set({ name: event.target.value })}
              error={faultOf('name')}
            />
            <TextField
              label="Slug"
              mono
              required
              value={draft.slug}
              onChange={(event) => set({ slug: event.target.value })}
              hint="Part of its address: clients that are connected must be told of a new one"
              error={faultOf('slug')}
            />
            <TextArea
              label="Description"
              rows={3}
              value={draft.description}
              onChange={(event) => set({ description: event.target.value })}
              hint="Shown to the agents that connect"
            />
            <Select
              label="Names of tools"
              value={draft.tool_names}
              onChange={(event) => set({ tool_names: event.target.value as Server['tool_names'] })}
              options={[
                ['generated', '{app}_{action}_action'],
                ['original', 'As they are called where they come from'],
              ]}
            />
            <TextField
              label="Large results"
              type="number"
              min={1000}
              value={draft.limit}
              onChange={(event) => set({ limit: event.target.value })}
              hint="Of a result with more bytes a model gets the beginning, and a tool to read on; empty is off"
              error={faultOf('result_limit')}
            />
            <TextField
              label="Time to decide"
              type="number"
              min={1}
              max={604_800}
              value={draft.decideIn}
              onChange={(event) => set({ decideIn: event.target.value })}
              hint="Seconds that a person has for a call that needs approval; unless given, the project’s"
              error={faultOf('approval_timeout_seconds')}
            />
            <ErrorNotice error={save.error} />
            <Button look="main" type="submit" busy={save.busy}>
              Save
            </Button>
          </div>
        </Panel>
      </form>
      <DeletePanel what="server" name={server.name} onDelete={() => remove.runAsync()}>
        Clients that are connected to it find nothing there any more. Tools and skills stay.
      </DeletePanel>
    </div>
  )
}
