import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, askAll, qm, type SignInProvider } from '../../api.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, Row } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { ProviderDialog } from './provider-dialog.tsx'

/** Company accounts that people can sign in with. */
export function SignInProviders() {
  const providers = useQuery({
    queryKey: ['sign-in-providers'],
    queryFn: () => askAll((page) => qm.signInProviders.listSignInProviders({ query: page })),
  })
  const [edited, setEdited] = useState<SignInProvider | 'new'>()
  return (
    <Panel
      title="Sign-in providers"
      flush
      aside={
        <Button icon="plus" onClick={() => setEdited('new')}>
          Add provider
        </Button>
      }
    >
      <p className="border-b border-line px-4 py-2.5 text-sm text-soft">
        Let people sign in with their company account (OpenID Connect). <HelpLink guide="people">Guide</HelpLink>
      </p>
      <Answered query={providers}>
        {(all) =>
          all.length === 0 ? (
            <p className="p-4 text-sm text-soft">No providers. People sign in with a password.</p>
          ) : (
            <ul>
              {all.map((provider) => (
                <ProviderLine key={provider.id} provider={provider} onEdit={() => setEdited(provider)} />
              ))}
            </ul>
          )
        }
      </Answered>
      {edited && (
        <ProviderDialog provider={edited === 'new' ? undefined : edited} onClose={() => setEdited(undefined)} />
      )}
    </Panel>
  )
}

function ProviderLine({ provider, onEdit }: { provider: SignInProvider; onEdit: () => void }) {
  const { id, name, issuer, enabled, default_role, allowed_domains } = provider
  const path = { sign_in_provider_id: id }
  const test = useAction(() => ask(qm.signInProviders.testSignInProvider({ path })))
  const remove = useAction(() => ask(qm.signInProviders.deleteSignInProvider({ path })), {
    changes: ['sign-in-providers'],
  })
  const who = default_role ? `new people become ${default_role}` : 'invited people only'
  return (
    <li className="space-y-2 border-b border-line px-4 py-2.5 last:border-0">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span className="min-w-0">
          <span className="font-medium break-words">{name}</span> {!enabled && <Badge>disabled</Badge>}
          <span className="block text-xs text-soft">{[...allowed_domains, who].join(' · ')}</span>
          <code className="block font-mono text-xs break-all text-soft">{issuer}</code>
        </span>
        <Row>
          <Button variant="quiet" busy={test.busy} onClick={() => test.run()}>
            Test
          </Button>
          <Button variant="quiet" onClick={onEdit}>
            Edit
          </Button>
          <ConfirmButton
            label="Delete"
            variant="quiet"
            title={`Delete ${name}?`}
            confirm="Delete provider"
            onConfirm={() => remove.runAsync()}
          >
            People who only use this provider can no longer sign in. Their accounts and sessions stay.
          </ConfirmButton>
        </Row>
      </div>
      <ErrorNotice error={test.error} />
      {test.data && (
        <p role="status" className="text-xs text-good">
          The provider answers. People sign in at {new URL(test.data.authorization_endpoint).host}.
        </p>
      )}
    </li>
  )
}
