import { z } from 'zod'
import { AnyJson } from '../lib/json.ts'
import { Text, Timestamp } from './page.ts'

/** The events that a webhook can subscribe to. */
export const WebhookEvent = z.enum([
  'generation.completed',
  'generation.failed',
  'generation.requires_action',
  'approval.requested',
  'connection.created',
  'connection.expiring',
  'connection.reauth_required',
  'connection.revoked',
  'connection.restored',
  'oauth_grant.revoked',
  'session.event',
])
export type WebhookEvent = z.infer<typeof WebhookEvent>

const isTarget = (text: string) => {
  const url = URL.parse(text)
  return url !== null && ['http:', 'https:'].includes(url.protocol) && url.username === '' && url.password === ''
}

export const WebhookFields = {
  name: Text.trim().min(1).max(200),
  url: Text.max(2000)
    .refine(isTarget, 'must be an http or https URL without a user name or password')
    .describe('URL that events are posted to'),
  events: z
    .array(z.union([WebhookEvent, z.literal('*')], { error: `must be one of ${WebhookEvent.options.join(', ')} or *` }))
    .min(1)
    .max(50)
    .transform((events) => [...new Set(events)])
    .describe('Event types to send; `*` for all'),
  enabled: z.boolean(),
}

/** A URL that receives the events of a project. */
export const Webhook = z.object({
  id: z.string(),
  project_id: z.string(),
  name: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  enabled: z.boolean(),
  disabled_reason: z.string().nullable().describe('Why the platform disabled it'),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export type Webhook = z.infer<typeof Webhook>
export type WebhookDraft = Pick<Webhook, 'name' | 'url' | 'events' | 'enabled'>

export const WebhookWithSecret = Webhook.extend({
  secret: z.string().describe('The signing secret, `whsec_…`; only returned here'),
})

export const DeliveryStatus = z.enum(['pending', 'delivered', 'failed'])
export type DeliveryStatus = z.infer<typeof DeliveryStatus>

/** The delivery of one event to one webhook, with its status. */
export const DeliverySummary = z.object({
  id: z.string().describe('Sent as `webhook-id`; the same for every attempt'),
  webhook_id: z.string(),
  project_id: z.string(),
  type: z.string(),
  status: DeliveryStatus,
  attempts: z.int(),
  last_status_code: z.int().nullable(),
  last_error: z.string().nullable(),
  response_excerpt: z.string().nullable().describe('The start of the last response'),
  next_attempt_at: Timestamp.nullable(),
  last_attempt_at: Timestamp.nullable(),
  delivered_at: Timestamp.nullable(),
  created_at: Timestamp,
})
export type DeliverySummary = z.infer<typeof DeliverySummary>

export const Delivery = DeliverySummary.extend({
  body: z.record(z.string(), AnyJson).describe('The request body: `type`, `timestamp` and `data`'),
})
export type Delivery = z.infer<typeof Delivery>
