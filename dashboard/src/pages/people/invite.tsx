import { ask, qm } from '../../api.ts'
import { useProjects, useSession } from '../../queries.ts'
import { Button, CopyButton, Row } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { useForm } from '../../use-form.ts'
import { isRole, RoleField } from './role-field.tsx'

export function Invite({ onClose }: { onClose: () => void }) {
  const { data: projects = [] } = useProjects()
  const { data: session } = useSession()
  const form = useForm({
    start: { email: '', name: '', role: 'reviewer', projectId: '' },
    save: ({ email, name, role, projectId }) =>
      ask(
        qm.users.inviteUser({
          body: {
            email: email.trim(),
            ...(name.trim() && { name: name.trim() }),
            ...(isRole(role) && { role }),
            ...(projectId && { project_id: projectId }),
          },
        }),
      ),
    changes: ['people'],
  })
  if (form.data) return <LinkDialog email={form.data.email} url={form.data.invitation_url} onClose={onClose} />
  return (
    <Dialog open onClose={onClose} title="Invite person">
      <Form form={form} label="Create invitation" onCancel={onClose}>
        <TextField label="Email address" type="email" required autoFocus {...form.text('email')} />
        <TextField label="Name" {...form.text('name')} hint="They can change it when they accept" />
        <RoleField {...form.text('role')} />
        {session?.principal.project_id === null && projects.length > 1 && (
          <Select
            label="Project"
            {...form.text('projectId', 'project_id')}
            options={[['', 'All projects'], ...projects.map((project) => [project.id, project.name] as const)]}
          />
        )}
      </Form>
    </Dialog>
  )
}

/** There is no mail server: you send the link yourself. */
export const LinkDialog = ({ email, url, onClose }: { email: string; url: string; onClose: () => void }) => (
  <Dialog
    open
    onClose={onClose}
    title="Invitation link"
    description={`Send this link to ${email}. It works once, for 7 days, and is not shown again. Anyone who has it can set the password.`}
  >
    <div className="space-y-3">
      <code data-testid="invitation" className="block rounded-md bg-sunken p-3 font-mono text-sm break-all select-all">
        {url}
      </code>
      <Row className="justify-end">
        <CopyButton text={url} label="Copy link" />
        <Button variant="main" onClick={onClose}>
          Done
        </Button>
      </Row>
    </div>
  </Dialog>
)
