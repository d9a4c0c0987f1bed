import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, Failure, qm } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Button } from '../../ui/button.tsx'
import { Switch, TextArea, TextField } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'

const slugged = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 63)

export function NewServer() {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  const [name, setName] = useState('')
  const [slug, setSlug] = useState<string>()
  const [description, setDescription] = useState('')
  const [isAgentMode, setAgentMode] = useState(false)
  const create = useAction(
    () =>
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
    {
      changes: ['servers'],
      onDone: ({ id }) => void navigate({ to: '/servers/$serverId', params: { serverId: id } }),
    },
  )
  const faultOf = (path: string) =>
    create.error instanceof Failure ? create.error.faults.find((fault) => fault.path === path)?.message : undefined
  return (
    <>
      <PageHead title="New server" />
      <form
        className="max-w-2xl space-y-4"
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        <Panel>
          <div className="space-y-4">
            <TextField
              label="Name"
              required
              value={name}
              onChange={(event) => setName(event.target.value)}
              error={faultOf('name')}
            />
            <TextField
              label="Slug"
              mono
              required
              value={slug ?? slugged(name)}
              onChange={(event) => setSlug(event.target.value)}
              hint={`Clients connect to ${window.location.origin}/mcp/${slug ?? slugged(name)}`}
              error={faultOf('slug')}
            />
            <TextArea
              label="Description"
              rows={3}
              value={description}
              onChange={(event) => setDescription(event.target.value)}
              hint="Shown to the agents that connect"
            />
            {field}
            <Switch
              label="Agent mode"
              hint="Two tools that find and run actions, instead of one tool for each action: for many actions"
              checked={isAgentMode}
              onChange={setAgentMode}
            />
          </div>
        </Panel>
        <ErrorNotice error={create.error} />
        <Button look="main" type="submit" busy={create.busy}>
          Create the server
        </Button>
      </form>
    </>
  )
}
