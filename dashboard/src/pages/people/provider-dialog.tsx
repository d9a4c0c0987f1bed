import { useQuery } from '@tanstack/react-query'
import { ask, findSignInOptions, qm, type SignInProvider } from '../../api.ts'
import { CopyButton, Row } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Switch, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { useForm } from '../../use-form.ts'
import { isRole, RoleField } from './role-field.tsx'

/** Adds or changes a sign-in provider. */
export function ProviderDialog({ provider, onClose }: { provider: SignInProvider | undefined; onClose: () => void }) {
  const form = useForm({
    start: {
      name: provider?.name ?? '',
      issuer: provider?.issuer ?? '',
      clientId: provider?.client_id ?? '',
      secret: '',
      domains: provider?.allowed_domains.join(', ') ?? '',
      role: (provider?.default_role ?? '') as string,
      enabled: provider?.enabled ?? true,
    },
    save: ({ issuer, secret, ...draft }) => {
      const body = {
        name: draft.name.trim(),
        client_id: draft.clientId.trim(),
        allowed_domains: draft.domains.split(/[\s,]+/).filter(Boolean),
        default_role: isRole(draft.role) ? draft.role : null,
        enabled: draft.enabled,
        ...(secret && { client_secret: secret }),
      }
      return provider
        ? ask(qm.signInProviders.updateSignInProvider({ path: { sign_in_provider_id: provider.id }, body }))
        : ask(qm.signInProviders.createSignInProvider({ body: { ...body, issuer: issuer.trim() } }))
    },
    changes: ['sign-in-providers'],
    onDone: onClose,
  })
  const { data: options } = useQuery({ queryKey: ['sign-in-options'], queryFn: findSignInOptions })
  const redirect = options?.redirect_uri ?? ''
  return (
    <Dialog open onClose={onClose} title={provider ? provider.name : 'Add sign-in provider'}>
      <div className="space-y-4">
        <div className="rounded-md bg-sunken p-3 text-sm">
          <p className="mb-1">Register this redirect URI with the provider:</p>
          <Row className="justify-between">
            <code className="min-w-0 font-mono text-xs break-all">{redirect}</code>
            <CopyButton text={redirect} />
          </Row>
        </div>
        <Form form={form} label={provider ? 'Save' : 'Add provider'} onCancel={onClose}>
          <TextField label="Name" required placeholder="Acme" {...form.text('name')} hint="Shown on the sign-in page" />
          {!provider && (
            <TextField label="Issuer" mono required placeholder="https://login.example.com" {...form.text('issuer')} />
          )}
          <div className="grid gap-4 sm:grid-cols-2">
            <TextField label="Client ID" mono required {...form.text('clientId', 'client_id')} />
            <TextField
              label="Client secret"
              mono
              type="password"
              autoComplete="new-password"
              {...form.text('secret', 'client_secret')}
              hint={provider?.has_client_secret ? 'Leave empty to keep the current one' : 'Encrypted, never shown'}
            />
          </div>
          <TextField
            label="Allowed email domains"
            placeholder="example.com, example.org"
            {...form.text('domains', 'allowed_domains')}
            hint="Empty for all. Required if new people get a role"
          />
          <RoleField label="People without an invitation" none="Are refused" {...form.text('role', 'default_role')} />
          <Switch
            label="Enabled"
            hint="Shown on the sign-in page"
            checked={form.draft.enabled}
            onChange={(enabled) => form.set({ enabled })}
          />
        </Form>
      </div>
    </Dialog>
  )
}
