import { useNavigate } from '@tanstack/react-router'
import { ask, qm, type Server } from '../../api.ts'
import { DeletePanel } from '../../ui/delete-panel.tsx'
import { Select, Switch, TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'
import { saveServer, serverChanges, useSaveServer } from './use-server.ts'

export function ServerSettings({ server }: { server: Server }) {
  const navigate = useNavigate()
  const remove = useAction(() => ask(qm.servers.deleteServer({ path: { server_id: server.id } })), {
    changes: ['servers'],
    onDone: () => void navigate({ to: '/servers' }),
  })
  const toggle = useSaveServer(server)
  const form = useForm({
    start: {
      name: server.name,
      slug: server.slug,
      description: server.description ?? '',
      tool_names: server.tool_names,
      limit: server.result_limit === null ? '' : String(server.result_limit),
      decideIn: server.approval_timeout_seconds === null ? '' : String(server.approval_timeout_seconds),
    },
    version: server.updated_at,
    save: ({ name, slug, description, tool_names, limit, decideIn }) =>
      saveServer(server.id, {
        name,
        slug,
        description: description.trim() || null,
        tool_names,
        result_limit: limit === '' ? null : Number(limit),
        approval_timeout_seconds: decideIn === '' ? null : Number(decideIn),
      }),
    changes: serverChanges,
  })
  const { text } = form
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
      <Panel title="How it appears">
        <Form form={form} label="Save">
          <TextField label="Name" required {...text('name')} />
          <TextField
            label="Slug"
            mono
            required
            {...text('slug')}
            hint="Part of its address: clients that are connected must be told of a new one"
          />
          <TextArea label="Description" rows={3} {...text('description')} hint="Shown to the agents that connect" />
          <Select
            label="Names of tools"
            {...text('tool_names')}
            options={[
              ['generated', '{app}_{action}_action'],
              ['original', 'As they are called where they come from'],
            ]}
          />
          <TextField
            label="Large results"
            type="number"
            min={1000}
            {...text('limit', 'result_limit')}
            hint="Of a result with more bytes a model gets the beginning, and a tool to read on; empty is off"
          />
          <TextField
            label="Time to decide"
            type="number"
            min={1}
            max={604_800}
            {...text('decideIn', 'approval_timeout_seconds')}
            hint="Seconds that a person has for a call that needs approval; unless given, the project’s"
          />
        </Form>
      </Panel>
      <DeletePanel what="server" name={server.name} onDelete={() => remove.runAsync()}>
        Clients that are connected to it find nothing there any more. Tools and skills stay.
      </DeletePanel>
    </div>
  )
}
