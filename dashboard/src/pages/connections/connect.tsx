import { useState } from 'react'
import { ask, qm } from '../../api.ts'
import { useAll, useMay } from '../../queries.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { useAction } from '../../use-action.ts'
import { faultsOf } from '../../use-form.ts'
import { LinkDialog, type Subject, useConnectLink } from './connect-link.tsx'
import {
  CredentialFields,
  type Credentials,
  credentialsOf,
  emptyCredentials,
  isTyped,
  type TypedType,
} from './credential-fields.tsx'
import { Diagnosis } from './diagnosis.tsx'

const ways = [
  ['page', 'On a page: sign in, or enter a key there'],
  ['api_key', 'Enter an API key here'],
  ['bearer', 'Enter a bearer token here'],
  ['basic', 'Enter a user name and password here'],
] as const

interface Typed {
  readonly subject: Subject
  readonly type: TypedType
  readonly typed: Credentials
}

const connectTyped = ({ subject: { end_user_id, ...target }, type, typed }: Typed) =>
  ask(
    qm.connections.createConnection({
      body: {
        ...target,
        type,
        owner: end_user_id === undefined ? { kind: 'project' } : { kind: 'user', id: end_user_id },
        ...credentialsOf(type, typed),
      },
    }),
  )

/** Asks what to connect and for whom. The page behind a link does the rest, unless the credentials are entered here. */
export function Connect({ app = '', onClose }: { app?: string; onClose: () => void }) {
  const { inProject, field } = useNewProject()
  const { data: apps = [] } = useAll('apps', (query) => qm.tools.listApps({ query }))
  const link = useConnectLink()
  const enter = useAction(connectTyped, { changes: ['connections'], onDone: onClose })
  const mayEnter = useMay('connections:CreateConnection')
  const mayDiagnose = useMay('connections:DiagnoseConnection')
  const [draft, setDraft] = useState({ app, tool: '', user: '', way: 'page' })
  const [typed, setTyped] = useState(emptyCredentials)
  const own = apps.filter(({ project_id }) => !inProject.project_id || project_id === inProject.project_id)
  const chosen = own.find(({ slug }) => slug === draft.app) ?? own[0]
  if (link.data) return <LinkDialog created={link.data} onClose={onClose} />

  const subject = (): Subject => {
    const user = draft.user.trim()
    const target = draft.tool ? { tool_id: draft.tool } : { app: chosen?.slug ?? '' }
    return { ...inProject, ...target, ...(user && { end_user_id: user }) }
  }
  const { way } = draft
  const { busy, error } = isTyped(way) ? enter : link
  const submit = () => (isTyped(way) ? enter.run({ subject: subject(), type: way, typed }) : link.run(subject()))
  const faultOf = faultsOf(error)
  const form = { submit, busy, error, isSaved: false, round: 0 }
  return (
    <Dialog open onClose={onClose} title="Connect account">
      <div className="space-y-4">
        <Form form={form} label={isTyped(way) ? 'Connect' : 'Create link'} onCancel={onClose} disabled={!chosen}>
          {field}
          <Select
            label="App"
            value={chosen?.slug ?? ''}
            onChange={({ target }) => setDraft({ ...draft, app: target.value, tool: '' })}
            options={
              own.length > 0 ? own.map(({ slug }) => [slug, slug] as const) : [['', 'No apps: create a tool first']]
            }
            error={faultOf('app')}
          />
          {chosen && chosen.tools.length > 1 && (
            <Select
              label="Tools"
              value={draft.tool}
              onChange={({ target }) => setDraft({ ...draft, tool: target.value })}
              options={[
                ['', 'All tools of the app'],
                ...chosen.tools.map(({ id, name }) => [id, `Only ${name}`] as const),
              ]}
              error={faultOf('tool_id')}
            />
          )}
          <TextField
            label="End user"
            value={draft.user}
            onChange={({ target }) => setDraft({ ...draft, user: target.value })}
            placeholder="user-42"
            hint="As your application knows the user. Leave empty to connect the account for the whole project"
            error={faultOf('end_user_id')}
          />
          {mayEnter && (
            <Select
              label="How"
              value={way}
              onChange={({ target }) => setDraft({ ...draft, way: target.value })}
              options={ways}
            />
          )}
          {isTyped(way) && <CredentialFields type={way} typed={typed} onChange={setTyped} faultOf={faultOf} />}
        </Form>
        {mayDiagnose && !isTyped(way) && (
          <div className="border-t border-line pt-4">
            <Diagnosis subject={subject} disabled={!chosen} />
          </div>
        )}
      </div>
    </Dialog>
  )
}
