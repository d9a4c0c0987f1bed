import { TextField } from '../../ui/field.tsx'

/** Credentials that somebody types in. */
export const emptyCredentials = { header: '', query: '', value: '', username: '', password: '' }
export type Credentials = typeof emptyCredentials

export type TypedType = 'api_key' | 'bearer' | 'basic'

export const isTyped = (way: string): way is TypedType => ['api_key', 'bearer', 'basic'].includes(way)

/** The fields of the type that are filled in. */
export function credentialsOf(type: TypedType, typed: Credentials): Partial<Credentials> {
  const names = { api_key: ['header', 'query', 'value'], bearer: ['value'], basic: ['username', 'password'] } as const
  return Object.fromEntries(names[type].filter((name) => typed[name] !== '').map((name) => [name, typed[name].trim()]))
}

export function CredentialFields({
  type,
  typed,
  onChange,
  faultOf,
}: {
  type: TypedType
  typed: Credentials
  onChange: (typed: Credentials) => void
  faultOf: (path: string) => string | undefined
}) {
  const field = (name: keyof Credentials) => ({
    value: typed[name],
    error: faultOf(name),
    onChange: ({ target }: { target: { value: string } }) => onChange({ ...typed, [name]: target.value }),
  })
  if (type === 'basic') {
    return (
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField label="User name" required {...field('username')} />
        <TextField label="Password" type="password" autoComplete="new-password" required {...field('password')} />
      </div>
    )
  }
  return (
    <>
      <TextField
        label={type === 'api_key' ? 'API key' : 'Token'}
        type="password"
        autoComplete="new-password"
        required
        {...field('value')}
        hint="Encrypted, and never shown again"
      />
      {type === 'api_key' && (
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField label="Header" mono placeholder="x-api-key" {...field('header')} />
          <TextField label="Or query parameter" mono {...field('query')} />
        </div>
      )}
    </>
  )
}
