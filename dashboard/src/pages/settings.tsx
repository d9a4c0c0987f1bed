import { useState } from 'react'
import { ask, type Project, qm } from '../api.ts'
import { plural } from '../format.ts'
import { useMay, useProjects, useSession } from '../queries.ts'
import { setTheme, type Theme, useTheme } from '../theme.ts'
import { Button, Row } from '../ui/button.tsx'
import { ConfirmButton } from '../ui/dialog.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Answered, ErrorNotice } from '../ui/notice.tsx'
import { Facts, PageHead, Panel } from '../ui/panel.tsx'
import { useAction } from '../use-action.ts'
import { useForm } from '../use-form.ts'
import { Apps } from './access/apps.tsx'
import { TrustedIssuers } from './access/trusted-issuers.tsx'
import { AlertSwitches } from './approvals/alerts.tsx'
import { Account } from './people/account.tsx'
import { SignInProviders } from './people/sign-in-providers.tsx'

export function Settings() {
  const { data: session } = useSession()
  const seesProjects = useMay('projects:ListProjects')
  const mayListProviders = useMay('sign-in-providers:ListSignInProviders')
  const seesIssuers = useMay('trusted-issuers:ListTrustedIssuers')
  const seesAccess = useMay('api-keys:ListApiKeys')
  const seesProviders = mayListProviders && session?.principal.project_id === null
  return (
    <>
      <PageHead title="Settings" />
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <div className="space-y-4">
          {seesProjects && <Projects />}
          {seesProviders && <SignInProviders />}
          {seesIssuers && <TrustedIssuers />}
          <Appearance />
        </div>
        <div className="space-y-4">
          <Panel title="Approval notifications and shortcuts">
            <AlertSwitches />
          </Panel>
          {session && <Account session={session} />}
          {seesAccess || (
            <Panel title="Connected apps">
              <Apps />
            </Panel>
          )}
          <Panel title="About">
            <Facts
              facts={[
                ['Version', session?.version ?? ''],
                [
                  'API',
                  <Row key="api">
                    <Outside href="/api/docs">Reference</Outside>
                    <Outside href="/api/v1/openapi.json">OpenAPI</Outside>
                  </Row>,
                ],
                [
                  'Monitoring',
                  <Row key="operation">
                    <Outside href="/metrics">Metrics</Outside>
                    <Outside href="/ready">Readiness</Outside>
                  </Row>,
                ],
              ]}
            />
          </Panel>
        </div>
      </div>
    </>
  )
}

const Outside = ({ href, children }: { href: string; children: string }) => (
  <a href={href} className="text-accent hover:underline">
    {children}
  </a>
)

const themes: readonly (readonly [Theme, string])[] = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

function Appearance() {
  const theme = useTheme()
  return (
    <Panel title="Appearance">
      <fieldset className="flex flex-wrap gap-4 text-sm">
        <legend className="sr-only">Appearance</legend>
        {themes.map(([value, name]) => (
          <label key={value} className="flex items-center gap-2">
            <input
              type="radio"
              name="theme"
              className="accent-accent"
              checked={theme === value}
              onChange={() => setTheme(value)}
            />
            {name}
          </label>
        ))}
      </fieldset>
    </Panel>
  )
}

function Projects() {
  const projects = useProjects()
  const [name, setName] = useState('')
  const create = useAction(() => ask(qm.projects.createProject({ body: { name: name.trim() } })), {
    changes: ['projects'],
    onDone: () => setName(''),
  })
  return (
    <Panel title="Projects" flush>
      <Answered query={projects}>
        {(all) => (
          <ul>
            {all.map((project) => (
              <ProjectLine key={project.id} project={project} />
            ))}
          </ul>
        )}
      </Answered>
      <form
        className="space-y-2 border-t border-line p-4"
        onSubmit={(event) => {
          event.preventDefault()
          create.run()
        }}
      >
        <TextField
          label="New project"
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
          hint="Keys of one project cannot see another project’s tools, servers or calls"
        />
        <ErrorNotice error={create.error} />
        <Button type="submit" busy={create.busy}>
          Create project
        </Button>
      </form>
    </Panel>
  )
}

function ProjectLine({ project }: { project: Project }) {
  const [isOpen, setOpen] = useState(false)
  const remove = useAction(() => ask(qm.projects.deleteProject({ path: { project_id: project.id } })), {
    changes: ['projects'],
  })
  const { approval_timeout_seconds: seconds } = project
  return (
    <li className="border-b border-line px-4 py-2.5 last:border-0">
      {isOpen ? (
        <ProjectForm project={project} onClose={() => setOpen(false)} />
      ) : (
        <div className="flex flex-wrap items-center justify-between gap-2">
          <span className="min-w-0">
            <span className="font-medium break-words">{project.name}</span>
            {seconds !== null && (
              <span className="ml-2 text-xs text-soft">approval timeout {plural(seconds, 'second')}</span>
            )}
            <code className="block font-mono text-xs text-soft">{project.id}</code>
          </span>
          <Row>
            <Button variant="quiet" onClick={() => setOpen(true)}>
              Edit
            </Button>
            <ConfirmButton
              label="Delete"
              variant="quiet"
              title={`Delete ${project.name}?`}
              confirm="Delete project"
              onConfirm={() => remove.runAsync()}
            >
              Only an empty project can be deleted.
            </ConfirmButton>
          </Row>
        </div>
      )}
    </li>
  )
}

function ProjectForm({ project, onClose }: { project: Project; onClose: () => void }) {
  const form = useForm({
    start: {
      name: project.name,
      seconds: project.approval_timeout_seconds === null ? '' : String(project.approval_timeout_seconds),
    },
    save: ({ name, seconds }) =>
      ask(
        qm.projects.updateProject({
          path: { project_id: project.id },
          body: { name: name.trim(), approval_timeout_seconds: seconds.trim() === '' ? null : Number(seconds) },
        }),
      ),
    changes: ['projects'],
    onDone: onClose,
  })
  return (
    <Form form={form} label="Save" onCancel={onClose}>
      <TextField label="Name" required autoFocus {...form.text('name')} />
      <TextField
        label="Approval timeout"
        type="number"
        min={1}
        max={604_800}
        {...form.text('seconds', 'approval_timeout_seconds')}
        hint="Seconds. Rules, tools and servers can override it. Default: set by the platform"
      />
    </Form>
  )
}
