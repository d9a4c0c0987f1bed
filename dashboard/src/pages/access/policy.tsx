import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { type AccessPolicy, ask, qm } from '../../api.ts'
import { Button, Row } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { JsonField } from '../../ui/json-field.tsx'
import { Answered } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'
import { documentOf, type PolicyDocument, statementsOf } from './statement-draft.ts'
import { StatementsEditor } from './statements.tsx'

const example: PolicyDocument = {
  statement: [{ effect: 'Allow', action: ['tools:CallTool', 'servers:UseServer'], resource: ['*'] }],
}

export function Policy() {
  const { policyId } = useParams({ from: '/access/policies/$policyId' })
  const isNew = policyId === 'new'
  const policy = useQuery({
    queryKey: ['access-policy', policyId],
    queryFn: () => ask(qm.accessPolicies.getAccessPolicy({ path: { access_policy_id: policyId } })),
    enabled: !isNew,
  })
  if (isNew) return <Editor policy={undefined} />
  return <Answered query={policy}>{(record) => <Editor key={record.id} policy={record} />}</Answered>
}

function Editor({ policy }: { policy: AccessPolicy | undefined }) {
  const navigate = useNavigate()
  const toList = () => void navigate({ to: '/access', search: { tab: 'policies' } })
  const form = useForm({
    start: {
      name: policy?.name ?? '',
      description: policy?.description ?? '',
      document: (policy?.document ?? example) as unknown,
    },
    version: policy?.updated_at,
    save({ name, description, document }) {
      const body = { name: name.trim(), description: description.trim() || null, document: document as PolicyDocument }
      return ask(
        policy
          ? qm.accessPolicies.updateAccessPolicy({ path: { access_policy_id: policy.id }, body })
          : qm.accessPolicies.createAccessPolicy({ body }),
      )
    },
    changes: ['access-policies', 'access-policy'],
    onDone: toList,
  })
  const { draft, set, text, faultOf } = form
  const [isJson, setJson] = useState(false)
  const statements = statementsOf(draft.document)
  const remove = useAction(
    async () => policy && ask(qm.accessPolicies.deleteAccessPolicy({ path: { access_policy_id: policy.id } })),
    { changes: ['access-policies'], onDone: toList },
  )
  return (
    <div className="max-w-3xl space-y-4">
      <PageHead
        title={policy?.name ?? 'New access policy'}
        actions={
          policy && (
            <ConfirmButton
              label="Delete"
              title={`Delete ${policy.name}?`}
              confirm="Delete access policy"
              onConfirm={() => remove.runAsync()}
            >
              You can delete an access policy only if no key uses it.
            </ConfirmButton>
          )
        }
      >
        Anything not allowed is denied, and Deny wins over Allow. Changes take effect at once.{' '}
        <HelpLink guide="first-tool">Keys and access policies</HelpLink>
      </PageHead>
      <Panel>
        <Form form={form} label={policy ? 'Save' : 'Create access policy'} disabled={!draft.document}>
          <TextField label="Name" required {...text('name')} />
          <TextField label="Description" {...text('description')} />
          <Row>
            <Button aria-pressed={!isJson} variant={isJson ? 'quiet' : 'plain'} onClick={() => setJson(false)}>
              Form
            </Button>
            <Button aria-pressed={isJson} variant={isJson ? 'plain' : 'quiet'} onClick={() => setJson(true)}>
              JSON
            </Button>
          </Row>
          {!isJson && statements && (
            <StatementsEditor statements={statements} onChange={(next) => set({ document: documentOf(next) })} />
          )}
          {!isJson && !statements && (
            <p className="text-sm text-soft">The form cannot show this document. Edit it as JSON.</p>
          )}
          {isJson && (
            <JsonField
              label="Document"
              rows={16}
              value={draft.document}
              onChange={(document) => set({ document })}
              error={faultOf('document')}
              hint={
                <>
                  Actions have the form <code className="font-mono">module:Operation</code> and resources{' '}
                  <code className="font-mono">qm:project:kind:id</code>. Use a wildcard for any part:{' '}
                  <code className="font-mono">*</code>.
                </>
              }
            />
          )}
        </Form>
      </Panel>
    </div>
  )
}
