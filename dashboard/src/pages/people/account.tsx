import { useState } from 'react'
import { changePassword, type Session, signOutEverywhere } from '../../api.ts'
import { when } from '../../format.ts'
import { setSession } from '../../queries.ts'
import { Button, Row } from '../../ui/button.tsx'
import { ConfirmButton, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Facts, Panel } from '../../ui/panel.tsx'
import { useForm } from '../../use-form.ts'

/** The person or key that is signed in. */
export function Account({ session: { principal, expires_at } }: { session: Session }) {
  const [isOpen, setOpen] = useState(false)
  const isPerson = principal.kind === 'user'
  const leave = async () => {
    await signOutEverywhere()
    setSession(null)
  }
  return (
    <Panel title={isPerson ? 'Your account' : 'This session'}>
      <div className="space-y-3">
        <Facts
          facts={[
            [isPerson ? 'Name' : 'Key', principal.name],
            ...(isPerson
              ? ([
                  ['Email', principal.email],
                  ['Role', principal.role ?? 'custom access'],
                ] as const)
              : []),
            ['Project', principal.project_id ?? 'all projects'],
            ['Expires', `${when(expires_at)} (extended on use)`],
          ]}
        />
        <Row>
          {principal.has_password && <Button onClick={() => setOpen(true)}>Change password</Button>}
          <ConfirmButton
            label="Sign out everywhere"
            variant="plain"
            title="Sign out everywhere?"
            confirm="Sign out"
            onConfirm={leave}
          >
            This ends all sessions {isPerson ? 'of your account' : 'of this key'}, including this one.
          </ConfirmButton>
        </Row>
        {isOpen && <ChangePassword onClose={() => setOpen(false)} />}
      </div>
    </Panel>
  )
}

function ChangePassword({ onClose }: { onClose: () => void }) {
  const form = useForm({
    start: { current: '', next: '' },
    save: ({ current, next }) => changePassword({ current_password: current, new_password: next }),
    onDone: (session) => {
      setSession(session)
      onClose()
    },
  })
  return (
    <Dialog open onClose={onClose} title="Change password" description="Your other sessions end.">
      <Form form={form} label="Change password" onCancel={onClose}>
        <TextField
          label="Current password"
          type="password"
          autoComplete="current-password"
          required
          {...form.text('current', 'current_password')}
        />
        <TextField
          label="New password"
          type="password"
          autoComplete="new-password"
          required
          minLength={12}
          hint="At least 12 characters"
          {...form.text('next', 'new_password')}
        />
      </Form>
    </Dialog>
  )
}
