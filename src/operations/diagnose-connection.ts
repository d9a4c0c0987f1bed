import { z } from 'zod'
import { ConnectionType, EndUserId, target } from '../model/connection.ts'
import { Id } from '../model/page.ts'
import { ownerKey } from '../store/connections.ts'
import { actingAs, requireOwner } from './act-as.ts'
import { targetIn } from './connection-input.ts'
import { creates } from './operation.ts'

export const DiagnosisStep = z.object({
  step: z.enum([
    ...['request', 'challenge', 'resource_metadata', 'server_metadata', 'registration', 'authorization', 'token'],
    ...['account', 'revocation'],
  ] as const),
  ok: z.boolean(),
  method: z.string().nullable(),
  url: z.string().nullable().describe('Host and path; never a query'),
  status: z.number().nullable(),
  detail: z.string().describe('What was found, or what failed and what to do'),
})

export const Diagnosis = z.object({
  ok: z.boolean().describe('Whether every step succeeded'),
  type: ConnectionType,
  connection_id: z.string().nullable().describe('The account that was checked; null if none is connected'),
  redirect_uri: z.string().describe('The redirect URI that the client of the platform has, for registrations by hand'),
  steps: z.array(DiagnosisStep),
})

export const diagnoseConnection = creates({
  name: 'diagnose-connection',
  permission: 'connections:DiagnoseConnection',
  route: 'POST /connections/diagnose',
  summary: 'Try each step of connecting an account and using it, and report what fails',
  example: { app: 'crm' },
  status: 200,
  kind: 'connection',
  input: z.strictObject({
    project_id: Id.optional(),
    ...target,
    end_user_id: EndUserId.optional().describe('The user whose account is checked; by default, that of the project'),
  }),
  output: Diagnosis,
  async run(input, context) {
    const { connections, projectId } = context
    const { endUserId } = actingAs(context, input.end_user_id, projectId)
    const owner = { kind: endUserId === null ? ('project' as const) : ('user' as const), id: endUserId }
    requireOwner(context, owner, projectId)
    const subject = { project_id: projectId, target: await targetIn(input, context), owner: ownerKey(owner) }
    const plan = await connections.flows.plan(subject)
    const steps = await connections.diagnose(plan)
    return {
      ok: steps.every(({ ok }) => ok),
      type: plan.type,
      connection_id: plan.existing?.id ?? null,
      redirect_uri: connections.flows.redirectUri,
      steps: steps.map(({ method = null, url = null, status = null, ...step }) => ({ ...step, method, url, status })),
    }
  },
})
