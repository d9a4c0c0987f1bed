import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { type AppPreset, type AuthConfig, ask, askAll, type ConnectionType, qm } from '../../api.ts'
import { useAll, useMay } from '../../queries.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Row } from '../../ui/button.tsx'
import { ConfirmButton, Dialog } from '../../ui/dialog.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'
import { typeNames, useTargetName } from './names.tsx'
import { OAuthFields } from './oauth-fields.tsx'

/** Client credentials connect without a person, so they are no choice for new configs. */
const choices = ['oauth2_authorization_code', 'api_key', 'bearer', 'basic'] as const satisfies ConnectionType[]

const usePresets = () =>
  useQuery({
    queryKey: ['app-presets'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => askAll((page) => qm.authConfigs.listAppPresets({ query: page })),
  })

const startOf = (config: AuthConfig | undefined) => ({
  app: config?.app ?? '',
  type: (config?.type ?? 'oauth2_authorization_code') as string,
  header: config?.header ?? '',
  query: config?.query ?? '',
  client_id: config?.client_id ?? '',
  client_secret: '',
  scopes: config?.scopes?.join(' ') ?? '',
  subdomain: config?.subdomain ?? '',
  issuer: config?.issuer ?? '',
  authorization_endpoint: config?.authorization_endpoint ?? '',
  token_endpoint: config?.token_endpoint ?? '',
})
type Draft = ReturnType<typeof startOf>

/** The fields of the type that are filled in and differ from what is stored. */
function settingsOf(draft: Draft, before: Draft) {
  const names: (keyof Draft)[] =
    draft.type === 'api_key'
      ? ['header', 'query']
      : draft.type.startsWith('oauth2')
        ? ['client_id', 'client_secret', 'subdomain', 'issuer', 'authorization_endpoint', 'token_endpoint']
        : []
  const given = names.filter((name) => draft[name].trim() !== '' && draft[name] !== before[name])
  const scopes = draft.scopes.split(/[\s,]+/).filter(Boolean)
  return {
    ...Object.fromEntries(given.map((name) => [name, draft[name].trim()])),
    ...(draft.type.startsWith('oauth2') && draft.scopes !== before.scopes && { scopes }),
  }
}

export function AuthConfigDialog({ config, onClose }: { config: AuthConfig | undefined; onClose: () => void }) {
  const { inProject, field } = useNewProject()
  const targetName = useTargetName()
  const presets = usePresets()
  const start = startOf(config)
  const form = useForm({
    start,
    save: (draft) => {
      const settings = settingsOf(draft, start)
      if (config) {
        return ask(qm.authConfigs.updateAuthConfig({ path: { auth_config_id: config.id }, body: settings }))
      }
      const type = choices.find((choice) => choice === draft.type) ?? 'oauth2_authorization_code'
      return ask(qm.authConfigs.createAuthConfig({ body: { ...inProject, app: draft.app.trim(), type, ...settings } }))
    },
    changes: ['auth-configs'],
    onDone: onClose,
  })
  const { draft, text } = form
  const preset = presets.data?.find(({ app }) => app === draft.app.trim())
  return (
    <Dialog
      open
      onClose={onClose}
      title={config ? targetName(config) : 'New auth config'}
      {...(config && { description: typeNames[config.type] })}
    >
      <div className="space-y-4">
        <Form form={form} label={config ? 'Save' : 'Create auth config'} onCancel={onClose}>
          {!config && (
            <>
              {field}
              <AppField presets={presets.data ?? []} {...text('app')} />
              <Select
                label="Type"
                {...text('type')}
                options={choices.map((type) => [type, typeNames[type]] as const)}
              />
            </>
          )}
          {draft.type === 'api_key' && (
            <div className="grid gap-4 sm:grid-cols-2">
              <TextField label="Header" mono placeholder="x-api-key" {...text('header')} />
              <TextField label="Or query parameter" mono {...text('query')} />
            </div>
          )}
          {draft.type.startsWith('oauth2') && <OAuthFields config={config} preset={preset} text={text} />}
        </Form>
        {config && <Delete config={config} name={targetName(config)} onGone={onClose} />}
      </div>
    </Dialog>
  )
}

/** An app of the project, or a well-known one. */
function AppField({
  presets,
  ...props
}: { presets: readonly AppPreset[] } & Omit<Parameters<typeof TextField>[0], 'label'>) {
  const { data: apps = [] } = useAll('apps', (query) => qm.tools.listApps({ query }))
  const list = useId()
  const names = new Map([
    ...presets.map(({ app, name }) => [app, name] as const),
    ...apps.map(({ slug }) => [slug, `${slug} (your tools)`] as const),
  ])
  return (
    <>
      <TextField
        label="App"
        mono
        required
        list={list}
        placeholder="github"
        {...props}
        hint="The app of your tools. Well-known apps, such as github or slack, need only a client"
      />
      <datalist id={list}>
        {[...names].map(([app, name]) => (
          <option key={app} value={app}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  )
}

function Delete({ config, name, onGone }: { config: AuthConfig; name: string; onGone: () => void }) {
  const remove = useAction(() => ask(qm.authConfigs.deleteAuthConfig({ path: { auth_config_id: config.id } })), {
    changes: ['auth-configs'],
    onDone: onGone,
  })
  if (!useMay('auth-configs:DeleteAuthConfig')) return null
  return (
    <Row className="justify-between border-t border-line pt-4 text-sm">
      <p className="text-soft">Existing connections stay.</p>
      <ConfirmButton
        label="Delete"
        title={`Delete the auth config of ${name}?`}
        confirm="Delete auth config"
        onConfirm={() => remove.runAsync()}
      >
        Nobody can connect new accounts of this app until there is another one.
      </ConfirmButton>
    </Row>
  )
}
