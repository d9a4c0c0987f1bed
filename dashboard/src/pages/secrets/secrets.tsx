import { useState } from 'react'
import { ask, qm, type Secret } from '../../api.ts'
import { ago, when } from '../../format.ts'
import { useAll } from '../../queries.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button, CopyButton, Row } from '../../ui/button.tsx'
import { ConfirmButton, Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { rowLink } from '../../ui/table.tsx'
import { useForm } from '../../use-form.ts'

/** The list of secrets. Values are never shown. */
export function Secrets() {
  const secrets = useAll('secrets', (query) => qm.secrets.listSecrets({ query }))
  const [isNew, setNew] = useState(false)
  const [opened, setOpened] = useState<Secret>()
  const add = (
    <Button variant="main" icon="plus" onClick={() => setNew(true)}>
      New secret
    </Button>
  )
  return (
    <>
      <PageHead title="Secrets" actions={add}>
        Credentials that tools reference by name. Values are encrypted and never shown.{' '}
        <HelpLink guide="secrets">Guide</HelpLink>
      </PageHead>
      <Listing
        query={secrets}
        label="Secrets"
        empty={
          <Empty title="No secrets yet" action={add}>
            Store an API key once, and use it in the headers or the URL of your tools.
          </Empty>
        }
        columns={[
          {
            name: 'Name',
            cell: (secret) => (
              <>
                <button type="button" onClick={() => setOpened(secret)} className={`${rowLink} text-left font-mono`}>
                  {secret.name}
                </button>
                {secret.description && <div className="text-xs text-soft">{secret.description}</div>}
              </>
            ),
          },
          {
            name: 'Source',
            wideOnly: true,
            cell: ({ env, file }) => <Badge>{env ? `environment: ${env}` : file ? `file: ${file}` : 'stored'}</Badge>,
          },
          {
            name: 'Rotated',
            end: true,
            cell: ({ rotated_at }) => (
              <time dateTime={rotated_at} title={when(rotated_at)} className="text-soft">
                {ago(rotated_at)}
              </time>
            ),
          },
        ]}
      />
      {isNew && <NewSecret onClose={() => setNew(false)} />}
      {opened && <Rotate secret={opened} onClose={() => setOpened(undefined)} />}
    </>
  )
}

function NewSecret({ onClose }: { onClose: () => void }) {
  const { inProject, field } = useNewProject()
  const form = useForm({
    start: { name: '', value: '', description: '' },
    save: ({ name, value, description }) =>
      ask(
        qm.secrets.createSecret({
          body: { ...inProject, name: name.trim(), value, description: description.trim() || null },
        }),
      ),
    changes: ['secrets'],
    onDone: onClose,
  })
  return (
    <Dialog open onClose={onClose} title="New secret">
      <Form form={form} label="Create secret" onCancel={onClose}>
        {field}
        <TextField
          label="Name"
          mono
          required
          placeholder="CRM_TOKEN"
          {...form.text('name')}
          hint="Letters, digits and underscores"
        />
        <Value {...form.text('value')} />
        <TextField label="Description" {...form.text('description')} />
      </Form>
    </Dialog>
  )
}

const Value = (props: Omit<Parameters<typeof TextField>[0], 'label'>) => (
  <TextField label="Value" mono required type="password" autoComplete="new-password" {...props} />
)

function Rotate({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  const path = { secret_id: secret.id }
  const reference = `\${{ secrets.${secret.name} }}`
  const form = useForm({
    start: { value: '' },
    save: ({ value }) => ask(qm.secrets.updateSecret({ path, body: { value } })),
    changes: ['secrets'],
    onDone: onClose,
  })
  const remove = async (force: boolean) => {
    await ask(qm.secrets.deleteSecret({ path, query: { force } }))
    onClose()
  }
  return (
    <Dialog open onClose={onClose} title={secret.name} description="Tools use the new value with their next call.">
      <div className="space-y-4">
        <Row className="justify-between rounded-md bg-sunken p-3">
          <code className="font-mono text-sm break-all">{reference}</code>
          <CopyButton text={reference} label="Copy reference" />
        </Row>
        <Form form={form} label="Rotate secret" onCancel={onClose}>
          <Value {...form.text('value')} hint="The current value cannot be shown" />
        </Form>
        <Row className="justify-between border-t border-line pt-4 text-sm">
          <p className="text-soft">Calls of tools that reference it fail once it is deleted.</p>
          <ConfirmButton label="Delete" title={`Delete ${secret.name}?`} confirm="Delete secret" onConfirm={remove}>
            The value is lost. This cannot be undone.
          </ConfirmButton>
        </Row>
      </div>
    </Dialog>
  )
}
