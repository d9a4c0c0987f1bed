import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { type ApiDescription, ask, qm } from '../../../api.ts'
import { plural } from '../../../format.ts'
import { TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { useForm } from '../../../use-form.ts'
import { includeOf, nameFor } from './choice.ts'
import { OperationPicker } from './operation-picker.tsx'

/** Above this, a model works better with fewer operations, or with a server in agent mode. */
const many = 40

export function CreateFromApi({
  api,
  url,
  inProject,
}: {
  api: ApiDescription
  url: string | undefined
  inProject: { project_id?: string }
}) {
  const navigate = useNavigate()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(api.operations.map(({ name }) => name)))
  const [credentials, setCredentials] = useState<Readonly<Record<string, string>>>({})
  const form = useForm({
    start: { name: nameFor(api), server_url: '' },
    save: ({ name, server_url }) => {
      const include = includeOf(api.operations, chosen)
      const filled = Object.entries(credentials).filter(([, value]) => value !== '')
      return ask(
        qm.tools.createTool({
          body: {
            ...inProject,
            name,
            type: 'openapi',
            openapi: {
              ...(url !== undefined && { url }),
              snapshot: api.snapshot,
              ...(server_url !== '' && { server_url }),
              ...(include && { include }),
              ...(filled.length > 0 && { credentials: Object.fromEntries(filled) }),
            },
          },
        }),
      )
    },
    changes: ['tools', 'apps'],
    onDone: ({ id }) => void navigate({ to: '/tools/$toolId', params: { toolId: id } }),
  })
  return (
    <>
      <Panel title={api.title || 'Operations'} aside={<span className="text-sm text-soft">OpenAPI {api.version}</span>}>
        <OperationPicker operations={api.operations} chosen={chosen} onChange={setChosen} />
      </Panel>
      <Panel title="Tool">
        <Form
          form={form}
          label={chosen.size === 0 ? 'Choose operations first' : `Create tool with ${plural(chosen.size, 'action')}`}
          disabled={chosen.size === 0}
        >
          {chosen.size > many && (
            <p className="text-sm text-soft">
              {chosen.size} actions are a lot for a model. Choose fewer, or offer them on a server in agent mode.
            </p>
          )}
          <TextField label="Name" mono required {...form.text('name')} hint="Also the app that its actions belong to" />
          <TextField
            label="Server URL"
            mono
            required={api.server_url === null}
            placeholder={api.server_url ?? 'https://api.example.com'}
            {...form.text('server_url', 'openapi.server_url')}
            hint="Where requests go. By default, the server that the document names"
          />
          {api.credentials.map(({ scheme, type, description, actions }) => (
            <TextField
              key={scheme}
              label={`Credential: ${scheme}`}
              mono
              placeholder="${{ secrets.NAME }}"
              value={credentials[scheme] ?? ''}
              onChange={({ target }) => setCredentials({ ...credentials, [scheme]: target.value })}
              hint={`${typeNames[type] ?? type}, for ${plural(actions, 'action')}. ${description ?? ''}`}
            />
          ))}
        </Form>
      </Panel>
    </>
  )
}

const typeNames: Readonly<Record<string, string>> = {
  api_key: 'An API key',
  bearer: 'A bearer token',
  basic: 'user:password',
  oauth2: 'An OAuth access token',
  unsupported: 'Not supported: use a header',
}
