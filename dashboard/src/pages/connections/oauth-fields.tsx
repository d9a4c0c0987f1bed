import { useQuery } from '@tanstack/react-query'
import { type AppPreset, type AuthConfig, findSignInOptions } from '../../api.ts'
import { CopyButton, Row } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'

type Name =
  | 'client_id'
  | 'client_secret'
  | 'scopes'
  | 'subdomain'
  | 'issuer'
  | 'authorization_endpoint'
  | 'token_endpoint'

/** The OAuth client of an app. The endpoints of well-known apps are not asked for. */
export function OAuthFields({
  config,
  preset,
  text,
}: {
  config: AuthConfig | undefined
  preset: AppPreset | undefined
  text: (name: Name) => Omit<Parameters<typeof TextField>[0], 'label'>
}) {
  return (
    <>
      <RedirectUri preset={preset} />
      {preset?.needs_subdomain && (
        <TextField
          label="Subdomain"
          mono
          required
          placeholder="acme"
          {...text('subdomain')}
          hint={`Your part of the host name at ${preset.name}, such as "acme" of acme.example.com`}
        />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField label="Client ID" mono {...text('client_id')} />
        <TextField
          label="Client secret"
          mono
          type="password"
          autoComplete="new-password"
          {...text('client_secret')}
          hint={config?.has_client_secret ? 'Leave empty to keep the current one' : 'Encrypted, never shown'}
        />
      </div>
      <TextField
        label="Scopes"
        mono
        placeholder={preset?.scopes.join(' ') ?? ''}
        {...text('scopes')}
        hint={preset?.scopes.length ? 'Leave empty for those shown' : 'Leave empty for those that the service asks for'}
      />
      {!preset && (
        <>
          <TextField
            label="Issuer"
            mono
            placeholder="https://login.example.com"
            {...text('issuer')}
            hint="The authorization server. Or enter its two endpoints"
          />
          <div className="grid gap-4 sm:grid-cols-2">
            <TextField label="Authorization endpoint" mono {...text('authorization_endpoint')} />
            <TextField label="Token endpoint" mono {...text('token_endpoint')} />
          </div>
        </>
      )}
    </>
  )
}

/** What the operator does at the service first. */
function RedirectUri({ preset }: { preset: AppPreset | undefined }) {
  const { data: options } = useQuery({ queryKey: ['sign-in-options'], queryFn: findSignInOptions })
  const uri = options?.redirect_uri?.replace('/api/v1/dashboard/sso/callback', '/connect/callback')
  const place = preset?.client_registration_url
  return (
    <div className="rounded-md bg-sunken p-3 text-sm">
      <p className="mb-1">
        {preset && `The endpoints of ${preset.name} are known. `}
        Register a client{' '}
        {place ? (
          <a href={place} target="_blank" rel="noreferrer" className="text-accent underline">
            at {new URL(place).host}
          </a>
        ) : (
          'at the service'
        )}{' '}
        with this redirect URI:
      </p>
      {uri ? (
        <Row className="justify-between">
          <code className="min-w-0 font-mono text-xs break-all">{uri}</code>
          <CopyButton text={uri} />
        </Row>
      ) : (
        <p className="text-soft">Set QM_PUBLIC_URL first.</p>
      )}
    </div>
  )
}
