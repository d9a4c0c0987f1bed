import { ask, qm, type User } from '../../api.ts'
import { when } from '../../format.ts'
import { useProjects, useSession } from '../../queries.ts'
import { Button, Row } from '../../ui/button.tsx'
import { ConfirmButton, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ModesField } from '../../ui/modes-field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Facts } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'
import { LinkDialog } from './invite.tsx'
import { isRole, RoleField } from './role-field.tsx'

const changes = ['people', 'session']

export function Person({ user, onClose }: { user: User; onClose: () => void }) {
  const { data: session } = useSession()
  const { data: projects = [] } = useProjects()
  const path = { user_id: user.id }
  const form = useForm({
    start: { name: user.name, role: user.role ?? '', modes: user.modes as readonly string[] },
    version: user.updated_at,
    save: ({ name, role, modes }) =>
      ask(qm.users.updateUser({ path, body: { name: name.trim(), ...(isRole(role) && { role }), modes: [...modes] } })),
    changes,
  })
  const setStatus = useAction((status: 'active' | 'disabled') => ask(qm.users.updateUser({ path, body: { status } })), {
    changes,
  })
  const reinvite = useAction(() => ask(qm.users.reinviteUser({ path })), { changes: ['people'] })
  const signOut = useAction(() => ask(qm.users.signOutUser({ path })), { changes })
  const remove = useAction(() => ask(qm.users.deleteUser({ path })), { changes, onDone: onClose })
  const isSelf = session?.principal.id === user.id
  if (reinvite.data) return <LinkDialog email={user.email} url={reinvite.data.invitation_url} onClose={onClose} />
  return (
    <Dialog open onClose={onClose} title={user.name} description={user.email}>
      <div className="space-y-4">
        <Facts
          facts={[
            ['Signs in with', waysOf(user)],
            ['Project', projects.find(({ id }) => id === user.project_id)?.name ?? user.project_id ?? 'all projects'],
            ['Last seen', user.last_seen_at ? when(user.last_seen_at) : 'never'],
          ]}
        />
        <Form form={form} label="Save" onCancel={onClose}>
          <TextField label="Name" required {...form.text('name')} />
          <RoleField
            {...form.text('role')}
            {...(user.role === null && { none: `Custom: ${user.access_policy_ids.join(', ') || 'no access'}` })}
          />
          <ModesField chosen={form.draft.modes} onChange={(modes) => form.set({ modes })} />
        </Form>
        <div className="space-y-3 border-t border-line pt-4">
          <ErrorNotice error={reinvite.error ?? setStatus.error ?? signOut.error} />
          <Row>
            {user.status !== 'disabled' && (
              <ConfirmButton
                label={user.has_password ? 'Reset password' : 'New invitation link'}
                variant="plain"
                title={user.has_password ? `Reset the password of ${user.name}?` : `New link for ${user.name}?`}
                confirm="Create link"
                onConfirm={() => reinvite.runAsync()}
              >
                You get a link that you send to {user.email}. An earlier link stops working.
              </ConfirmButton>
            )}
            {user.status === 'active' && (
              <Button busy={signOut.busy} onClick={() => signOut.run()}>
                {signOut.done ? 'Signed out' : 'Sign out everywhere'}
              </Button>
            )}
            {user.status === 'disabled' ? (
              <Button busy={setStatus.busy} onClick={() => setStatus.run('active')}>
                Enable
              </Button>
            ) : (
              <ConfirmButton
                label="Disable"
                title={`Disable ${user.name}?`}
                confirm="Disable person"
                onConfirm={() => setStatus.runAsync('disabled')}
              >
                {isSelf ? 'You are' : 'They are'} signed out immediately and cannot sign in. API keys that they created
                keep working.
              </ConfirmButton>
            )}
            <ConfirmButton
              label="Delete"
              title={`Delete ${user.name}?`}
              confirm="Delete person"
              onConfirm={() => remove.runAsync()}
            >
              {isSelf ? 'You are' : 'They are'} signed out immediately. The call log and approvals keep the name. API
              keys that they created keep working.
            </ConfirmButton>
          </Row>
        </div>
      </div>
    </Dialog>
  )
}

const waysOf = ({ has_password, sso_issuer }: User): string =>
  [has_password && 'password', sso_issuer && `company account (${sso_issuer})`].filter(Boolean).join(', ') ||
  'nothing yet'
