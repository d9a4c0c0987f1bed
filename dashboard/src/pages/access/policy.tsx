import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { type AccessPolicy, ask, type Body, Failure, qm } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { JsonField } from '../../ui/json-field.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'

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
  return <Answered query={policy}>{(record) => <Editor key={record.updated_at} policy={record} />}</Answered>
}

function Editor({ policy }: { policy: AccessPolicy | undefined }) {
  const navigate = useNavigate()
  const [name, setName] = useState(policy?.name ?? '')
  const [description, setDescription] = useState(policy?.description ?? '')
  const [document, setDocument] = useState<unknown>(policy?.document ?? example)
  const toList = () => void navigate({ to: '/access', search: { tab: 'policies' } })
  const save = useAction(
    () => {
      const body = { name: name.trim(), description: description.trim() || null, document: document as Document }
      return ask(
        policy
          ? qm.accessPolicies.updateAccessPolicy({ path: { access_policy_id: policy.id }, body })
          : qm.accessPolicies.createAccessPolicy({ body }),
      )
    },
    { changes: ['access-policies', 'access-policy'], onDone: toList },
  )
  const remove = useAction(
    async () => policy && ask(qm.accessPolicies.deleteAccessPolicy({ path: { access_policy_id: policy.id } })),
    { changes: ['access-policies'], onDone: toList },
  )
  const faults = save.error instanceof Failure ? save.error.faults : []
  return (
    <form
      className="max-w-3xl space-y-4"
      onSubmit={(event) => {
        event.preventDefault()
        save.run()
      }}
    >
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
        <div className="space-y-4">
          <TextField
            label="Name"
            required
            value={name}
            onChange={(event) => setName(event.target.value)}
            error={faults.find(({ path }) => path === 'name')?.message}
          />
          <TextField label="Description" value={description} onChange={(event) => setDescription(event.target.value)} />
          <JsonField
            label="Document"
            rows={16}
            value={document}
            onChange={setDocument}
            hint={
              <>
                Actions are written <code className="font-mono">module:Operation</code>, resources{' '}
                <code className="font-mono">qm:project:kind:id</code>; either may be{' '}
                <code className="font-mono">*</code>.
              </>
            }
          />
          <ErrorNotice error={save.error} />
          <Button look="main" type="submit" busy={save.busy} disabled={!document}>
            {policy ? 'Save' : 'Create the access policy'}
          </Button>
        </div>
      </Panel>
    </form>
  )
}
