import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, qm, type Webhook } from '../../api.ts'
import { useAll } from '../../queries.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button, Row } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { rowLink } from '../../ui/table.tsx'
import { useForm } from '../../use-form.ts'
import { EventsField } from './events.tsx'
import { SecretDialog } from './secret.tsx'

/** The list of webhooks. */
export function Webhooks() {
  const webhooks = useAll('webhooks', (query) => qm.webhooks.listWebhooks({ query }))
  const [isOpen, setOpen] = useState(false)
  const add = (
    <Button variant="main" icon="plus" onClick={() => setOpen(true)}>
      New webhook
    </Button>
  )
  return (
    <>
      <PageHead title="Webhooks" actions={add}>
        Send events to your own services, for example when a call needs approval.{' '}
        <HelpLink guide="webhooks">Guide</HelpLink>
      </PageHead>
      <Listing
        query={webhooks}
        label="Webhooks"
        empty={
          <Empty title="No webhooks yet" action={add}>
            Notify a chat channel or a pager when a call needs approval, or an application when an agent run completed.
          </Empty>
        }
        columns={columns}
      />
      {isOpen && <NewWebhook onClose={() => setOpen(false)} />}
    </>
  )
}

const columns = [
  {
    name: 'Name',
    cell: ({ id, name, url }: Webhook) => (
      <>
        <Link to="/webhooks/$webhookId" params={{ webhookId: id }} className={rowLink}>
          {name}
        </Link>
        <div className="font-mono text-xs break-all text-soft">{url}</div>
      </>
    ),
  },
  {
    name: 'Events',
    wideOnly: true,
    cell: ({ events }: Webhook) => (
      <Row>
        {events.map((event) => (
          <Badge key={event}>{event === '*' ? 'all' : event}</Badge>
        ))}
      </Row>
    ),
  },
  {
    name: 'Status',
    end: true,
    cell: ({ enabled, disabled_reason }: Webhook) =>
      enabled ? <Badge tone="good">enabled</Badge> : <Badge tone={disabled_reason ? 'bad' : 'plain'}>disabled</Badge>,
  },
]

function NewWebhook({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  const form = useForm({
    start: { name: '', url: '', events: ['approval.requested'] as readonly string[] },
    save: ({ name, url, events }) =>
      ask(
        qm.webhooks.createWebhook({
          body: { ...inProject, name: name.trim(), url: url.trim(), events: [...events] as '*'[] },
        }),
      ),
    changes: ['webhooks'],
  })
  const { draft, set, text, faultOf } = form
  if (form.data) {
    const { id, secret } = form.data
    const close = () => {
      onClose()
      void navigate({ to: '/webhooks/$webhookId', params: { webhookId: id } })
    }
    return <SecretDialog title="Webhook created" secret={secret} onClose={close} />
  }
  return (
    <Dialog open onClose={onClose} title="New webhook">
      <Form form={form} label="Create webhook" disabled={draft.events.length === 0} onCancel={onClose}>
        {field}
        <TextField label="Name" required placeholder="on-call channel" {...text('name')} />
        <TextField
          label="URL"
          mono
          required
          placeholder="https://example.com/hooks/quartermaster"
          {...text('url')}
          hint="Events are sent here with POST, signed according to Standard Webhooks"
        />
        <EventsField events={draft.events} onChange={(events) => set({ events })} error={faultOf('events')} />
      </Form>
    </Dialog>
  )
}
