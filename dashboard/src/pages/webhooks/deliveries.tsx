import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, type WebhookDeliverySummary as Delivery, qm, type Webhook } from '../../api.ts'
import { ago, moment, plural, when } from '../../format.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Button, Row } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { Facts, Panel } from '../../ui/panel.tsx'
import { Table } from '../../ui/table.tsx'
import { JsonView, TextView } from '../../ui/text.tsx'
import { useAction } from '../../use-action.ts'

const pageSize = 20
const tones: Record<Delivery['status'], Tone> = { delivered: 'good', pending: 'accent', failed: 'bad' }
const words: Record<Delivery['status'], string> = { delivered: 'delivered', pending: 'pending', failed: 'failed' }

export const DeliveryStatus = ({ delivery: { status, attempts, last_error } }: { delivery: Delivery }) => (
  <Badge tone={status === 'pending' && last_error ? 'warn' : tones[status]}>
    {status === 'pending' && attempts > 0 ? 'retrying' : words[status]}
  </Badge>
)

/** Deliveries and their status, newest first. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const [status, setStatus] = useState<Delivery['status'] | ''>('')
  const [offset, setOffset] = useState(0)
  const [opened, setOpened] = useState<Delivery>()
  const deliveries = useQuery({
    queryKey: ['deliveries', webhook.id, status, offset],
    placeholderData: keepPreviousData,
    refetchInterval: 5000,
    queryFn: () =>
      ask(
        qm.webhooks.listWebhookDeliveries({
          path: { webhook_id: webhook.id },
          query: { limit: pageSize, offset, ...(status && { status }) },
        }),
      ),
  })
  return (
    <Panel
      title="Deliveries"
      flush
      aside={
        <select
          aria-label="Status of deliveries"
          className="control w-auto text-sm"
          value={status}
          onChange={(event) => {
            setStatus(event.target.value as Delivery['status'])
            setOffset(0)
          }}
        >
          <option value="">Status: any</option>
          {(['delivered', 'pending', 'failed'] as const).map((one) => (
            <option key={one} value={one}>
              {words[one]}
            </option>
          ))}
        </select>
      }
    >
      <Answered query={deliveries}>
        {({ data, total }) =>
          total === 0 ? (
            <p className="px-4 py-6 text-center text-sm text-soft">
              {status
                ? 'No deliveries with this status.'
                : 'No deliveries yet. Send a test event to check your endpoint.'}
            </p>
          ) : (
            <>
              <Table
                label="Deliveries"
                items={data}
                columns={[
                  {
                    name: 'Event',
                    cell: (one) => (
                      <>
                        <button
                          type="button"
                          onClick={() => setOpened(one)}
                          className="text-left font-mono text-xs font-medium after:absolute after:inset-0 hover:text-accent"
                        >
                          {one.type}
                        </button>
                        <div className="text-xs text-soft" title={when(one.created_at)}>
                          {moment(one.created_at)}
                        </div>
                      </>
                    ),
                  },
                  {
                    name: 'Response',
                    wideOnly: true,
                    cell: (one) => (
                      <span className="line-clamp-2 text-soft">
                        {one.last_error ?? one.last_status_code ?? '–'}
                        {one.attempts > 1 && `, ${plural(one.attempts, 'attempt')}`}
                        {one.status === 'pending' && one.next_attempt_at && `, next ${ago(one.next_attempt_at)}`}
                      </span>
                    ),
                  },
                  { name: 'Status', end: true, cell: (one) => <DeliveryStatus delivery={one} /> },
                ]}
              />
              {total > pageSize && (
                <Row className="justify-between border-t border-line px-4 py-2 text-sm text-soft">
                  <span>
                    {offset + 1} to {Math.min(offset + pageSize, total)} of {plural(total, 'delivery', 'deliveries')}
                  </span>
                  <Row>
                    <Button disabled={offset === 0} onClick={() => setOffset(offset - pageSize)}>
                      Newer
                    </Button>
                    <Button disabled={offset + pageSize >= total} onClick={() => setOffset(offset + pageSize)}>
                      Older
                    </Button>
                  </Row>
                </Row>
              )}
            </>
          )
        }
      </Answered>
      {opened && <One webhook={webhook} id={opened.id} onClose={() => setOpened(undefined)} />}
    </Panel>
  )
}

function One({ webhook, id, onClose }: { webhook: Webhook; id: string; onClose: () => void }) {
  const path = { webhook_id: webhook.id, delivery_id: id }
  const delivery = useQuery({
    queryKey: ['deliveries', webhook.id, 'one', id],
    queryFn: () => ask(qm.webhooks.getWebhookDelivery({ path })),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? 1000 : false),
  })
  const again = useAction(() => ask(qm.webhooks.redeliverWebhookDelivery({ path })), { changes: ['deliveries'] })
  return (
    <Dialog open wide onClose={onClose} title="Delivery">
      <Answered query={delivery}>
        {(one) => (
          <div className="space-y-4">
            <Facts
              facts={[
                ['Status', <DeliveryStatus key="status" delivery={one} />],
                ['Event', one.type],
                [
                  'ID',
                  <code key="id" className="font-mono text-xs break-all">
                    {one.id}
                  </code>,
                ],
                ['Attempts', String(one.attempts)],
                ['Last attempt', one.last_attempt_at ? when(one.last_attempt_at) : 'none yet'],
                ...(one.next_attempt_at ? [['Next attempt', when(one.next_attempt_at)] as const] : []),
                ...(one.last_status_code === null ? [] : [['Response', String(one.last_status_code)] as const]),
                ...(one.last_error ? [['Error', one.last_error] as const] : []),
              ]}
            />
            {one.response_excerpt && (
              <div>
                <h3 className="mb-1">Response</h3>
                <TextView text={one.response_excerpt} name="answer.txt" />
              </div>
            )}
            <div>
              <h3 className="mb-1">Payload</h3>
              <JsonView value={one.body} name="delivery.json" />
            </div>
            <ErrorNotice error={again.error} />
            <Row className="justify-end">
              <Button onClick={onClose}>Close</Button>
              <Button variant="main" busy={again.busy} disabled={!webhook.enabled} onClick={() => again.run()}>
                Redeliver
              </Button>
            </Row>
          </div>
        )}
      </Answered>
    </Dialog>
  )
}
