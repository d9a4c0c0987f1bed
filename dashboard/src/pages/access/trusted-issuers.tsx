import { useState } from 'react'
import { ask, qm, type TrustedIssuer } from '../../api.ts'
import { useAll, useMay, usePolicies } from '../../queries.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button, Row } from '../../ui/button.tsx'
import { Checks } from '../../ui/checks.tsx'
import { ConfirmButton, Dialog } from '../../ui/dialog.tsx'
import { Switch, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { Answered } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'

const key = 'trusted-issuers'

/** Authorization servers whose tokens the MCP servers accept. */
export function TrustedIssuers() {
  const issuers = useAll(key, (query) => qm.trustedIssuers.listTrustedIssuers({ query }))
  const [edited, setEdited] = useState<TrustedIssuer | 'new'>()
  const add = useMay('trusted-issuers:CreateTrustedIssuer') && (
    <Button icon="plus" onClick={() => setEdited('new')}>
      Add issuer
    </Button>
  )
  return (
    <Panel title="Trusted issuers" flush aside={add}>
      <p className="border-b border-line px-4 py-2.5 text-sm text-soft">
        MCP servers accept access tokens of these authorization servers. <HelpLink guide="oauth">Guide</HelpLink>
      </p>
      <Answered query={issuers}>
        {(all) =>
          all.length === 0 ? (
            <p className="p-4 text-sm text-soft">No issuers. Only tokens of this platform are accepted.</p>
          ) : (
            <ul>
              {all.map((issuer) => (
                <Line key={issuer.id} issuer={issuer} onEdit={() => setEdited(issuer)} />
              ))}
            </ul>
          )
        }
      </Answered>
      {edited && <IssuerDialog issuer={edited === 'new' ? undefined : edited} onClose={() => setEdited(undefined)} />}
    </Panel>
  )
}

function Line({ issuer: { id, name, issuer, enabled, rules }, onEdit }: { issuer: TrustedIssuer; onEdit: () => void }) {
  const remove = useAction(() => ask(qm.trustedIssuers.deleteTrustedIssuer({ path: { trusted_issuer_id: id } })), {
    changes: [key],
  })
  const mayUpdate = useMay('trusted-issuers:UpdateTrustedIssuer')
  const mayDelete = useMay('trusted-issuers:DeleteTrustedIssuer')
  return (
    <li className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-2.5 last:border-0">
      <span className="min-w-0">
        <span className="font-medium break-words">{name}</span> {!enabled && <Badge>disabled</Badge>}{' '}
        {rules.length > 0 && <Badge>rules: {rules.length}</Badge>}
        <code className="block font-mono text-xs break-all text-soft">{issuer}</code>
      </span>
      <Row>
        {mayUpdate && (
          <Button variant="quiet" onClick={onEdit}>
            Edit
          </Button>
        )}
        {mayDelete && (
          <ConfirmButton
            label="Delete"
            variant="quiet"
            title={`Delete ${name}?`}
            confirm="Delete issuer"
            onConfirm={() => remove.runAsync()}
          >
            Its tokens stop working immediately.
          </ConfirmButton>
        )}
      </Row>
    </li>
  )
}

/** Rules for claims are kept as they are; they are set with the API. */
function IssuerDialog({ issuer, onClose }: { issuer: TrustedIssuer | undefined; onClose: () => void }) {
  const { inProject, field } = useNewProject()
  const { data: policies = [] } = usePolicies()
  const form = useForm({
    start: {
      name: issuer?.name ?? '',
      url: issuer?.issuer ?? '',
      audience: issuer?.audience ?? '',
      policies: (issuer?.access_policy_ids ?? ['pol_caller']) as readonly string[],
      enabled: issuer?.enabled ?? true,
    },
    save: ({ name, url, audience, enabled, policies: chosen }) => {
      const body = { name: name.trim(), audience: audience.trim() || null, access_policy_ids: [...chosen], enabled }
      return issuer
        ? ask(qm.trustedIssuers.updateTrustedIssuer({ path: { trusted_issuer_id: issuer.id }, body }))
        : ask(qm.trustedIssuers.createTrustedIssuer({ body: { ...inProject, ...body, issuer: url.trim() } }))
    },
    changes: [key],
    onDone: onClose,
  })
  const { draft, text, set } = form
  return (
    <Dialog open onClose={onClose} title={issuer ? issuer.name : 'Add trusted issuer'}>
      <Form form={form} label={issuer ? 'Save' : 'Add trusted issuer'} onCancel={onClose}>
        {!issuer && field}
        <TextField label="Name" required placeholder="Acme" {...text('name')} />
        {!issuer && (
          <TextField
            label="Issuer"
            mono
            required
            placeholder="https://login.example.com"
            {...text('url', 'issuer')}
            hint="Exactly as in the tokens, including a slash at the end"
          />
        )}
        <TextField
          label="Audience"
          mono
          {...text('audience')}
          hint="Empty for the URL of the MCP server that is called, which is safer"
        />
        <Checks
          label="Access policies of everyone with a token"
          options={policies.map(({ id, name, description }) => ({ id, name, hint: description }))}
          chosen={draft.policies}
          onChange={(chosen) => set({ policies: chosen })}
        />
        <Switch label="Enabled" checked={draft.enabled} onChange={(enabled) => set({ enabled })} />
      </Form>
    </Dialog>
  )
}
