import { useNavigate } from '@tanstack/react-router'
import { ask, qm } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Switch, TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { useForm } from '../../use-form.ts'

const slugged = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 63)

export function NewServer() {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  const form = useForm({
    start: { name: '', slug: undefined as string | undefined, description: '', isAgentMode: false },
    save: ({ name, slug, description, isAgentMode }) =>
      ask(
        qm.servers.createServer({
          body: {
            slug: slug ?? slugged(name),
            name: name.trim(),
            description: description.trim() || null,
            agent_mode: isAgentMode,
            ...inProject,
          },
        }),
      ),
    changes: ['servers'],
    onDone: ({ id }) => void navigate({ to: '/servers/$serverId', params: { serverId: id } }),
  })
  const { draft, set, text, faultOf } = form
  // The slug follows the name until it is edited.
  const slug = draft.slug ?? slugged(draft.name)
  return (
    <>
      <PageHead title="New server" />
      <Form form={form} label="Create server" className="max-w-2xl">
        <Panel>
          <div className="space-y-4">
            <TextField label="Name" required {...text('name')} />
            <TextField
              label="Slug"
              mono
              required
              value={slug}
              onChange={(event) => set({ slug: event.target.value })}
              hint={`Clients connect to ${window.location.origin}/mcp/${slug}`}
              error={faultOf('slug')}
            />
            <TextArea label="Description" rows={3} {...text('description')} hint="Shown to agents that connect" />
            {field}
            <Switch
              label="Agent mode"
              hint="Two tools that search and run actions, instead of one tool per action. Recommended for many actions"
              checked={draft.isAgentMode}
              onChange={(isAgentMode) => set({ isAgentMode })}
            />
            <p className="text-sm text-soft">
              The server offers every action of the project, also those that are added later. You can limit it to
              selected apps under “Actions and skills”.
            </p>
          </div>
        </Panel>
      </Form>
    </>
  )
}
