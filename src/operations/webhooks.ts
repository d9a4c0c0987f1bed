import { z } from 'zod'
import { evaluate } from '../access/evaluate.ts'
import { maskedUrl } from '../credentials/tool-secrets.ts'
import { PlatformError } from '../model/errors.ts'
import { Id, Paging, pageOf, Text } from '../model/page.ts'
import type { Principal } from '../model/principal.ts'
import {
  Delivery,
  DeliveryStatus,
  DeliverySummary,
  Webhook,
  WebhookFields,
  WebhookWithSecret,
} from '../model/webhook.ts'
import { shownUrl } from '../webhooks/sealed-url.ts'
import { acts, creates, lists, type RecordKind } from './operation.ts'

const webhook: RecordKind<Webhook> = {
  name: 'webhook',
  find: (id, store) => store.webhooks.find(id),
  resource: ({ id, project_id }) => ({ projectId: project_id ?? null, kind: 'webhook', id }),
}

const { name, url, events, enabled } = WebhookFields

/** Keys in the URL are masked. Callers who cannot change the webhook do not see the rest of its query either. */
const presentTo = (one: Webhook, principal: Principal): Webhook =>
  evaluate(principal, 'webhooks:UpdateWebhook', webhook.resource(one)).allowed
    ? { ...one, url: shownUrl(one.url) }
    : { ...one, url: maskedUrl(one.url) }

export const createWebhook = creates({
  name: 'create-webhook',
  permission: 'webhooks:CreateWebhook',
  route: 'POST /webhooks',
  summary: 'Create a webhook; its secret is only returned here',
  example: { name: 'runs', url: 'https://example.com/hooks/quartermaster', events: ['generation.completed'] },
  secretFields: ['secret'],
  kind: 'webhook',
  input: z.strictObject({ project_id: Id.optional(), name, url, events, enabled: enabled.default(true) }),
  output: WebhookWithSecret,
  run: ({ project_id: _, ...draft }, { webhooks, projectId }) => webhooks.create(projectId, draft),
})

export const listWebhooks = lists({
  name: 'list-webhooks',
  permission: 'webhooks:ListWebhooks',
  route: 'GET /webhooks',
  summary: 'List webhooks',
  of: webhook,
  input: z.strictObject({ project_id: Id.optional(), ...Paging }),
  output: pageOf(Webhook),
  async run(input, { store, visible, principal }) {
    const page = await store.webhooks.list(input, visible)
    return { ...page, data: page.data.map((one) => presentTo(one, principal)) }
  },
})

export const getWebhook = acts({
  name: 'get-webhook',
  permission: 'webhooks:GetWebhook',
  route: 'GET /webhooks/{webhook_id}',
  summary: 'Get a webhook, without its secret',
  on: webhook,
  input: z.strictObject({ id: Id }),
  output: Webhook,
  run: async (_, { target, principal }) => presentTo(target, principal),
})

export const updateWebhook = acts({
  name: 'update-webhook',
  permission: 'webhooks:UpdateWebhook',
  route: 'PATCH /webhooks/{webhook_id}',
  summary: 'Change a webhook',
  example: { events: ['generation.completed', 'generation.failed'] },
  on: webhook,
  input: z.strictObject({ id: Id, ...z.object(WebhookFields).partial().shape }),
  output: Webhook,
  run({ id: _, ...change }, { webhooks, target }) {
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
    return webhooks.update(target, given)
  },
})

export const deleteWebhook = acts({
  name: 'delete-webhook',
  permission: 'webhooks:DeleteWebhook',
  route: 'DELETE /webhooks/{webhook_id}',
  summary: 'Delete a webhook and its deliveries',
  status: 204,
  on: webhook,
  input: z.strictObject({ id: Id }),
  output: z.null(),
  async run({ id }, { store }) {
    await store.webhooks.remove(id)
    return null
  },
})

export const rotateWebhookSecret = acts({
  name: 'rotate-webhook-secret',
  permission: 'webhooks:RotateWebhookSecret',
  route: 'POST /webhooks/{webhook_id}/rotate-secret',
  summary:
    'Rotate the secret of a webhook; for a day, deliveries are signed with both. The new secret is only returned here',
  example: {},
  secretFields: ['secret'],
  on: webhook,
  input: z.strictObject({ id: Id }),
  output: WebhookWithSecret,
  run: (_, { webhooks, target }) => webhooks.rotateSecret(target),
})

export const testWebhook = acts({
  name: 'test-webhook',
  permission: 'webhooks:TestWebhook',
  route: 'POST /webhooks/{webhook_id}/test',
  summary: 'Send a webhook.test event and return the result',
  example: {},
  on: webhook,
  input: z.strictObject({ id: Id }),
  output: DeliverySummary,
  run: (_, { webhooks, target }) => webhooks.test(target),
})

export const listWebhookDeliveries = acts({
  name: 'list-webhook-deliveries',
  permission: 'webhooks:ListWebhookDeliveries',
  route: 'GET /webhooks/{webhook_id}/deliveries',
  summary: 'List the deliveries of a webhook, newest first',
  on: webhook,
  input: z.strictObject({
    id: Id,
    status: DeliveryStatus.optional(),
    type: Text.max(200).optional().describe('The event'),
    ...Paging,
  }),
  output: pageOf(DeliverySummary),
  run: ({ id, ...filter }, { store }) => store.webhooks.listDeliveries(id, filter),
})

export const getWebhookDelivery = acts({
  name: 'get-webhook-delivery',
  permission: 'webhooks:GetWebhookDelivery',
  route: 'GET /webhooks/{webhook_id}/deliveries/{delivery_id}',
  summary: 'Get a delivery with its body',
  on: webhook,
  input: z.strictObject({ id: Id, delivery_id: Id }),
  output: Delivery,
  async run({ id, delivery_id }, { store }) {
    const found = await store.webhooks.findDelivery(id, delivery_id)
    if (!found) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'delivery', id: delivery_id })
    return found
  },
})

export const redeliverWebhookDelivery = acts({
  name: 'redeliver-webhook-delivery',
  permission: 'webhooks:RedeliverWebhookDelivery',
  route: 'POST /webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver',
  summary: 'Send a delivery again, with the same id',
  example: {},
  on: webhook,
  input: z.strictObject({ id: Id, delivery_id: Id }),
  output: DeliverySummary,
  async run({ id, delivery_id }, { store, webhooks, target }) {
    const found = await store.webhooks.findDelivery(id, delivery_id)
    if (!found) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'delivery', id: delivery_id })
    return webhooks.redeliver(target, delivery_id)
  },
})
