import { useState } from 'react'
import { qm } from '../../api.ts'
import { useAll } from '../../queries.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { faultsOf } from '../../use-form.ts'
import { LinkDialog, useConnectLink } from './connect-link.tsx'

/** Asks what to connect and for whom. The page behind the link does the rest. */
export function Connect({ app = '', onClose }: { app?: string; onClose: () => void }) {
  const { inProject, field } = useNewProject()
  const { data: apps = [] } = useAll('apps', (query) => qm.tools.listApps({ query }))
  const create = useConnectLink()
  const [draft, setDraft] = useState({ app, tool: '', user: '' })
  const own = apps.filter(({ project_id }) => !inProject.project_id || project_id === inProject.project_id)
  const chosen = own.find(({ slug }) => slug === draft.app) ?? own[0]
  if (create.data) return <LinkDialog created={create.data} onClose={onClose} />

  const submit = () => {
    const user = draft.user.trim()
    const target = draft.tool ? { tool_id: draft.tool } : { app: chosen?.slug ?? '' }
    create.run({ ...inProject, ...target, ...(user && { end_user_id: user }) })
  }
  const faultOf = faultsOf(create.error)
  const form = { submit, busy: create.busy, error: create.error, isSaved: false, round: 0 }
  return (
    <Dialog open onClose={onClose} title="Connect account">
      <Form form={form} label="Create link" onCancel={onClose} disabled={!chosen}>
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
      </Form>
    </Dialog>
  )
}
