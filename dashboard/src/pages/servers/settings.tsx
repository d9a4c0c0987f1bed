import { useNavigate } from '@tanstack/react-router'
import { ask, qm, type Server } from '../../api.ts'
import { DeletePanel } from '../../ui/delete-panel.tsx'
import { Select, Switch, TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'
import { ServerAccess } from './access.tsx'
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
      tokens: server.resolve_tokens === null ? '' : String(server.resolve_tokens),
      decideIn: server.approval_timeout_seconds === null ? '' : String(server.approval_timeout_seconds),
    },
    version: server.updated_at,
    save: ({ name, slug, description, tool_names, limit, tokens, decideIn }) =>
      saveServer(server.id, {
        name,
        slug,
        description: description.trim() || null,
        tool_names,
        result_limit: limit === '' ? null : Number(limit),
        resolve_tokens: tokens === '' ? null : Number(tokens),
        approval_timeout_seconds: decideIn === '' ? null : Number(decideIn),
      }),
    changes: serverChanges,
  })
  const { text } = form
  return (
    <div className="max-w-2xl space-y-4">
      <Panel title="Options">
        <div className="space-y-4">
          <Switch
            label="Enabled"
            hint="A disabled endpoint returns 404"
            checked={server.enabled}
            disabled={toggle.busy}
            onChange={(enabled) => toggle.run({ enabled })}
          />
          <Switch
            label="Agent mode"
            hint="Two tools that search and run actions, instead of one tool per action"
            checked={server.agent_mode}
            disabled={toggle.busy}
            onChange={(agent_mode) => toggle.run({ agent_mode })}
          />
          <Switch
            label="Skills"
            hint="Adds tools that list and load skills"
            checked={server.retrieve_skill}
            disabled={toggle.busy}
            onChange={(retrieve_skill) => toggle.run({ retrieve_skill })}
          />
          <Switch
            label="Prompts"
            hint="Passes on the prompts of its MCP servers"
            checked={server.pass_prompts}
            disabled={toggle.busy}
            onChange={(pass_prompts) => toggle.run({ pass_prompts })}
          />
          <Switch
            label="Resources"
            hint="Passes on the resources of its MCP servers"
            checked={server.pass_resources}
            disabled={toggle.busy}
            onChange={(pass_resources) => toggle.run({ pass_resources })}
          />
          <Switch
            label="Require approval"
            hint="For every call through this server. If off, tools and rules decide"
            checked={server.auto_approve === false}
            disabled={toggle.busy}
            onChange={(isOn) => toggle.run({ auto_approve: isOn ? false : null })}
          />
          <ErrorNotice error={toggle.error} />
        </div>
      </Panel>
      <Panel title="General">
        <Form form={form} label="Save">
          <TextField label="Name" required {...text('name')} />
          <TextField
            label="Slug"
            mono
            required
            {...text('slug')}
            hint="Part of the URL. If you change it, update all connected clients"
          />
          <TextArea label="Description" rows={3} {...text('description')} hint="Shown to agents that connect" />
          <Select
            label="Tool names"
            {...text('tool_names')}
            options={[
              ['generated', '{app}_{action}_action'],
              ['original', 'Original names'],
            ]}
          />
          <TextField
            label="Result limit"
            type="number"
            min={1000}
            {...text('limit', 'result_limit')}
            hint="Bytes. Larger results are cut, and the model gets a tool to read the rest. Default: no limit"
          />
          <TextField
            label="Search answer limit"
            type="number"
            min={100}
            max={100_000}
            {...text('tokens', 'resolve_tokens')}
            hint="Tokens of an answer of RESOLVE_ACTIONS in agent mode. Default: 2000"
          />
          <TextField
            label="Approval timeout"
            type="number"
            min={1}
            max={604_800}
            {...text('decideIn', 'approval_timeout_seconds')}
            hint="Seconds. Default: that of the project"
          />
        </Form>
      </Panel>
      <ServerAccess server={server} />
      <DeletePanel what="server" name={server.name} onDelete={() => remove.runAsync()}>
        Connected clients stop working. Tools and skills are kept.
      </DeletePanel>
    </div>
  )
}
