import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { ask, type WebhookDeliverySummary as Delivery, qm, type Webhook as WebhookRecord } from '../../api.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { DeletePanel } from '../../ui/delete-panel.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { Switch, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { TextView } from '../../ui/text.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'
import { Deliveries, DeliveryStatus } from './deliveries.tsx'
import { EventsField } from './events.tsx'
import { SecretDialog } from './secret.tsx'

export function Webhook() {
  const { webhookId } = useParams({ from: '/webhooks/$webhookId' })
  const webhook = useQuery({
    queryKey: ['webhook', webhookId],
    queryFn: () => ask(qm.webhooks.getWebhook({ path: { webhook_id: webhookId } })),
  })
  return <Answered query={webhook}>{(known) => <Whole webhook={known} />}</Answered>
}

function Whole({ webhook }: { webhook: WebhookRecord }) {
  const navigate = useNavigate()
  const path = { webhook_id: webhook.id }
  const test = useAction(() => ask(qm.webhooks.testWebhook({ path })), { changes: ['deliveries'] })
  const rotate = useAction(() => ask(qm.webhooks.rotateWebhookSecret({ path })), { changes: ['webhook'] })
  const remove = useAction(() => ask(qm.webhooks.deleteWebhook({ path })), {
    changes: ['webhooks'],
    onDone: () => void navigate({ to: '/webhooks' }),
  })
  return (
    <>
      <PageHead
        title={webhook.name}
        actions={
          <Button variant="main" busy={test.busy} disabled={!webhook.enabled} onClick={() => test.run()}>
            Send test event
          </Button>
        }
      >
        <span className="mr-2 inline-flex align-middle">
          <Badge tone={webhook.enabled ? 'good' : webhook.disabled_reason ? 'bad' : 'plain'}>
            {webhook.enabled ? 'enabled' : 'disabled'}
          </Badge>
        </span>
        <code className="font-mono text-xs break-all">{webhook.url}</code>
      </PageHead>
      <div className="space-y-4">
        {webhook.disabled_reason && !webhook.enabled && (
          <p className="rounded-md bg-warn-wash px-3 py-2 text-sm text-warn">
            The platform disabled this webhook: {webhook.disabled_reason}
          </p>
        )}
        <ErrorNotice error={test.error} />
        {test.data && !test.busy && <TestAnswer delivery={test.data} />}
        <Deliveries webhook={webhook} />
        <div className="grid items-start gap-4 lg:grid-cols-2">
          <Settings key={webhook.id} webhook={webhook} />
          <div className="space-y-4">
            <Panel title="Signing secret">
              <div className="flex flex-wrap items-center justify-between gap-3 text-sm">
                <p className="text-soft">After you rotate it, deliveries are signed with both secrets for one day.</p>
                <ConfirmButton
                  label="Rotate secret"
                  variant="plain"
                  title="Rotate the signing secret?"
                  confirm="Rotate secret"
                  onConfirm={() => rotate.runAsync()}
                >
                  The old secret stays valid for one day.
                </ConfirmButton>
              </div>
            </Panel>
            <DeletePanel what="webhook" name={webhook.name} onDelete={() => remove.runAsync()}>
              Events are no longer sent. The delivery history is also deleted.
            </DeletePanel>
          </div>
        </div>
      </div>
      {rotate.data && (
        <SecretDialog title="New signing secret" secret={rotate.data.secret} onClose={() => rotate.reset()} />
      )}
    </>
  )
}

function TestAnswer({ delivery }: { delivery: Delivery }) {
  const { last_status_code, last_error, response_excerpt } = delivery
  return (
    <Panel title="Test delivery" aside={<DeliveryStatus delivery={delivery} />}>
      <p role="status" className="text-sm">
        {last_error ?? (last_status_code === null ? 'Sending…' : `The endpoint returned ${last_status_code}.`)}
      </p>
      {response_excerpt && (
        <div className="mt-2">
          <TextView text={response_excerpt} name="answer.txt" />
        </div>
      )}
    </Panel>
  )
}

function Settings({ webhook }: { webhook: WebhookRecord }) {
  const change = (body: object) => ask(qm.webhooks.updateWebhook({ path: { webhook_id: webhook.id }, body }))
  const changes = ['webhooks', 'webhook']
  const turn = useAction((enabled: boolean) => change({ enabled }), { changes })
  const form = useForm({
    start: { name: webhook.name, url: webhook.url, events: webhook.events },
    version: webhook.updated_at,
    save: ({ name, url, events }) => change({ name: name.trim(), url: url.trim(), events }),
    changes,
  })
  const { draft, set, text, faultOf } = form
  return (
    <Panel title="Settings">
      <Form form={form} label="Save" disabled={draft.events.length === 0}>
        <Switch
          label="Enabled"
          hint="Events are not queued while the webhook is disabled"
          checked={webhook.enabled}
          disabled={turn.busy}
          onChange={(enabled) => turn.run(enabled)}
        />
        <ErrorNotice error={turn.error} />
        <TextField label="Name" required {...text('name')} />
        <TextField label="URL" mono required {...text('url')} />
        <EventsField
          events={draft.events}
          onChange={(events) => set({ events: [...events] as WebhookRecord['events'] })}
          error={faultOf('events')}
        />
      </Form>
    </Panel>
  )
}
