import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type AccessPolicy, ask, type Body, qm } from '../../api.ts'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { JsonField } from '../../ui/json-field.tsx'
import { Answered } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'

type Document = Body<'accessPolicies', 'createAccessPolicy'>['document']

const example: Document = {
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
      const body = { name: name.trim(), description: description.trim() || null, document: document as Document }
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
              confirm="Delete the access policy"
              onConfirm={() => remove.runAsync()}
            >
              It can be deleted only while no key holds it.
            </ConfirmButton>
          )
        }
      >
        What is not allowed is denied, and a Deny wins over any Allow. A change takes effect at once.
      </PageHead>
      <Panel>
        <Form form={form} label={policy ? 'Save' : 'Create the access policy'} disabled={!draft.document}>
          <TextField label="Name" required {...text('name')} />
          <TextField label="Description" {...text('description')} />
          <JsonField
            label="Document"
            rows={16}
            value={draft.document}
            onChange={(document) => set({ document })}
            error={faultOf('document')}
            hint={
              <>
                Actions are written <code className="font-mono">module:Operation</code>, resources{' '}
                <code className="font-mono">qm:project:kind:id</code>; either may be{' '}
                <code className="font-mono">*</code>.
              </>
            }
          />
        </Form>
      </Panel>
    </div>
  )
}
