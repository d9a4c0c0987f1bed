/**
 * Every error that a caller can see. Surfaces respond from this table, and `docs/reference/errors.md` is generated from it.
 * The meaning of a released code never changes.
 */

import type { Json } from '../lib/json.ts'
import { didYouMeanOneOf } from '../lib/nearest.ts'

/** One fault of an input. The path uses the caller's notation. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** All faults with their paths, in one line without a final period. */
export const inWords = (faults: readonly Fault[]) =>
  faults.map((fault) => (fault.path === '' ? fault.message : `${fault.path}: ${fault.message}`)).join('; ')

/** Adds a period unless the text already ends with punctuation. */
const ended = (text: string) => (/[.!?…]$/.test(text.trim()) ? text.trim() : `${text.trim()}.`)

const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ')

/** Describes the status of a run that does not accept outputs. */
const standing = (status: string) =>
  ({ requires_action: 'is waiting for an approval', in_progress: 'is in progress' })[status] ??
  (status === 'cancelled' ? 'was cancelled' : `has ${status}`)

interface CatalogueEntry {
  readonly status: number
  /** The description in the reference. */
  readonly says: string
  readonly message: (details: never) => string
  /** The status in the call record, if it does not follow from the HTTP status. */
  readonly recorded?: 'permission_denied' | 'rejected' | 'validation_error'
  /** Whether the error means that an approval ended without a grant, so the call only waited. */
  readonly endsApproval?: true
  /** Additional HTTP headers of the response. */
  readonly headers?: (details: never) => Readonly<Record<string, string>>
}

export const catalogue = {
  VALIDATION_FAILED: {
    status: 400,
    recorded: 'validation_error',
    says: 'The input does not match its schema. Every invalid field is listed.',
    message: (d: { errors: readonly Fault[] }) => ended(`The input is not valid: ${inWords(d.errors)}`),
  },
  MANIFEST_INVALID: {
    status: 400,
    says: 'The manifest has errors. Each is listed with its line, column and path.',
    message: (d: { errors: readonly (Fault & { line: number; column: number })[] }) =>
      ended(
        `The manifest is not valid: ${d.errors.map(({ line, column, path, message }) => `line ${line}, column ${column}: ${inWords([{ path, message }])}`).join('; ')}`,
      ),
  },
  INVALID_JSON: {
    status: 400,
    says: 'The request body is not valid JSON.',
    message: (d: { reason: string }) => `The request body is not valid JSON: ${d.reason}.`,
  },
  BODY_INCOMPLETE: {
    status: 400,
    says: 'The connection closed before the whole request body arrived.',
    message: (_: Record<never, never>) =>
      'The connection closed before the whole request body arrived. Send the request again.',
  },
  PROJECT_REQUIRED: {
    status: 400,
    says: 'The API key is not bound to a project, several projects exist, and the request does not choose one.',
    message: (_: { projects: number }) => 'Several projects exist. Choose one with "project_id".',
  },
  ANSWER_NOT_AWAITED: {
    status: 400,
    says: 'An MCP client answered a question that no call is waiting for.',
    message: (_: Record<never, never>) =>
      'No call is waiting for this answer: the call has ended, or it runs in another process of the platform. Call the tool again.',
  },
  UNAUTHENTICATED: {
    status: 401,
    recorded: 'permission_denied',
    says: 'No API key or access token was sent, it is unknown, revoked, expired or not accepted here, the dashboard session has ended, or a password is not correct.',
    message: (d: { reason: 'missing' | 'unknown' | 'expired' | 'signed out' | 'password' | 'token' | 'method' }) =>
      ({
        token:
          'This access token is not valid here: it has expired, was revoked, or was issued for something else. Get a new one from the authorization server.',
        method:
          'This MCP server does not accept this kind of credential. Its administrator chooses between API keys and OAuth.',
        'signed out': 'Your session has ended. Sign in again.',
        password: 'The email address or the password is not correct.',
        missing: 'An API key is required. Send it as "Authorization: Bearer sk_…".',
        unknown: 'This API key is not valid. Check that you copied all of it. It may also have been revoked.',
        expired: 'This API key has expired. Ask an administrator for a new one.',
      })[d.reason],
    headers: () => ({ 'www-authenticate': 'Bearer realm="quartermaster"' }),
  },
  INSUFFICIENT_SCOPE: {
    status: 403,
    says: 'The OAuth access token does not have the scope that this request needs.',
    message: (d: { scope: string }) =>
      `This access token does not have the scope "${d.scope}". Ask the authorization server for a token that has it.`,
  },
  KEY_GONE: {
    status: 403,
    says: 'The API key that started a run was revoked or has expired, or the person who started it lost access, so the run cannot continue.',
    message: (d: { name: string; kind?: 'user' }) =>
      d.kind === 'user'
        ? `"${d.name}" started this run and has no access any more. Someone with access must start a new run.`
        : `The API key "${d.name}" that started this run was revoked or has expired. Start a new run with a valid key.`,
  },
  INVITATION_NOT_VALID: {
    status: 403,
    says: 'An invitation link was already used, has expired, or was replaced by a new one.',
    message: (_: Record<never, never>) =>
      'This invitation link is not valid: it was already used, has expired, or was replaced. Ask the person who sent it for a new one.',
  },
  SIGN_IN_REFUSED: {
    status: 403,
    says: 'A person could not sign in with a company account. `reason` says why.',
    message: (d: {
      reason:
        | 'not invited'
        | 'email not verified'
        | 'domain not allowed'
        | 'disabled'
        | 'other account'
        | 'cancelled'
        | 'expired'
    }) =>
      ({
        'not invited': 'You have not been invited yet. Ask an owner of this platform for an invitation.',
        'email not verified':
          'Your company account has no verified email address, so it cannot be matched with an invitation.',
        'domain not allowed': 'The domain of your email address is not allowed to sign in here.',
        disabled: 'Your account is disabled. Ask an owner of this platform.',
        'other account': 'Your email address is linked to another company account. Ask an owner to invite you again.',
        cancelled: 'The sign-in was cancelled.',
        expired: 'The sign-in took too long, or was started in another browser. Try again.',
      })[d.reason],
  },
  FOREIGN_ORIGIN: {
    status: 403,
    says: 'The request comes from another website, or it reached the platform under a host name that is not its own.',
    message: (d: { header: 'Host' | 'Origin' }) =>
      `Request refused: the ${d.header} header names another site. Send the request to the platform's own address.`,
  },
  FORGED_REQUEST: {
    status: 403,
    says: 'The request has a dashboard session cookie but was not sent by the dashboard.',
    message: (_: { reason: 'origin' | 'token' }) =>
      'This request has a session cookie but was not sent by the dashboard. Reload the page, or send an API key instead.',
  },
  FORBIDDEN: {
    status: 403,
    recorded: 'permission_denied',
    says: 'The key is not allowed to do this. `layer` says which check denied it.',
    message: (d: {
      permission: string
      layer: 'project' | 'access policy' | 'agent boundary'
      resource: string
      reason?: string
    }) =>
      d.layer === 'project'
        ? 'This key is bound to another project.'
        : d.layer === 'agent boundary'
          ? `The boundary of this agent does not allow ${d.permission} on ${d.resource}.`
          : (d.reason ?? `No access policy of this key allows ${d.permission} on ${d.resource}.`),
  },
  EGRESS_BLOCKED: {
    status: 403,
    says: 'The tool’s URL points to an address that the platform is not allowed to call.',
    message: (d: { host: string; reason: string }) => `Requests to "${d.host}" are blocked: ${d.reason}.`,
  },
  APPROVAL_REJECTED: {
    status: 403,
    recorded: 'rejected',
    endsApproval: true,
    says: 'A reviewer rejected the call. It was not made.',
    message: (d: { action: string; approval_id: string; reason: string | null }) =>
      `A reviewer rejected the call to "${d.action}"${d.reason ? `: ${ended(d.reason)}` : '.'} It was not made. Try something else, or ask what would be acceptable.`,
  },
  APPROVAL_EXPIRED: {
    status: 403,
    recorded: 'rejected',
    endsApproval: true,
    says: 'Nobody decided on the call in time, or it was approved but not made in time. It was not made.',
    message: (d: { action: string; approval_id: string; approved: boolean }) =>
      d.approved
        ? `The approval for "${d.action}" has expired: it was granted, but the call was not made in time. Call again to request a new approval.`
        : `The call to "${d.action}" needs approval and nobody decided in time, so it was rejected. It was not made. Try something else, or call again to request a new approval.`,
  },
  APPROVAL_CANCELLED: {
    status: 403,
    recorded: 'rejected',
    endsApproval: true,
    says: 'The approval request was withdrawn before the call was made.',
    message: (d: { action: string; approval_id: string }) =>
      `The approval request for "${d.action}" was withdrawn. The call was not made.`,
  },
  SELF_APPROVAL: {
    status: 403,
    says: 'You cannot decide on your own call. The person or key that made it cannot, and neither can a key that they created, directly or through other keys.',
    message: (d: { approval_id: string; reason: 'same key' | 'same person' | 'created by the requester' }) =>
      d.reason === 'same person'
        ? `You made the call that ${d.approval_id} is about. Someone else must decide on it.`
        : d.reason === 'same key'
          ? `${d.approval_id} was requested with this same API key. Someone else must decide on it, with their own key.`
          : `Your key was created by the key that made the call, or by the person who made it, so both count as one person. Someone else must decide on ${d.approval_id}: with the key that created the requester's key, or with another key created by that one.`,
  },
  PERSON_REQUIRED: {
    status: 403,
    says: 'Only a person can decide on an approval. Tools, agents and models cannot.',
    message: (_: Record<never, never>) =>
      'Only a person can decide this. A tool call or an agent cannot. Use the dashboard, the command line or the REST API.',
  },
  RESOURCE_NOT_FOUND: {
    status: 404,
    says: 'The resource does not exist, or this key cannot see it.',
    message: (d: { kind: string; id: string; did_you_mean?: readonly string[] }) =>
      `There is no ${d.kind} "${d.id}".${didYouMeanOneOf(d.did_you_mean ?? [])}`,
  },
  NO_MANIFEST: {
    status: 404,
    says: 'The agent was not created from a manifest.',
    message: (d: { agent_id: string }) =>
      `The agent "${d.agent_id}" was not created from a manifest. Apply one with its name as the id.`,
  },
  ROUTINE_NOT_FOUND: {
    status: 404,
    says: 'No agent that this key can run has such an autonomous routine.',
    message: (d: { routine_id: string; did_you_mean?: readonly string[] }) =>
      `There is no autonomous routine "${d.routine_id}".${didYouMeanOneOf(d.did_you_mean ?? [])}`,
  },
  GENERATION_NOT_FOUND: {
    status: 404,
    says: 'The agent has no such generation, this key cannot see it, or it is not waiting for tool outputs.',
    message: (d: { generation_id: string; status?: string; error_code?: string | undefined }) =>
      d.status === undefined
        ? `This agent has no generation "${d.generation_id}".`
        : `The generation "${d.generation_id}" is not waiting for tool outputs: it ${standing(d.status)}${d.error_code ? ` (${d.error_code})` : ''}. See GET /generations/${d.generation_id}.`,
  },
  UNKNOWN_TOOL: {
    status: 404,
    says: 'A model or an MCP client called a tool that the agent or server does not have.',
    message: (d: { tool_name: string; known: readonly string[]; hint?: string }) =>
      `There is no tool "${d.tool_name}"${d.hint === undefined ? '' : ' on this server'}.${d.hint ?? (d.known.length > 0 ? ` Available tools: ${quoted(d.known)}.` : '')}`,
  },
  UNKNOWN_SERVER: {
    status: 404,
    recorded: 'validation_error',
    says: 'An XML block names a server that does not exist, is disabled, or that this key cannot use.',
    message: (d: { server_name: string; known: readonly string[] }) =>
      `There is no server "${d.server_name}".${d.known.length > 0 ? ` Available servers: ${quoted(d.known)}.` : ' You cannot use any server.'}`,
  },
  UNKNOWN_PROMPT: {
    status: 404,
    recorded: 'validation_error',
    says: 'The MCP servers behind a server have no such prompt, or this key cannot use it.',
    message: (d: { server_name: string; name: string }) => `The server "${d.server_name}" has no prompt "${d.name}".`,
  },
  UNKNOWN_RESOURCE: {
    status: 404,
    recorded: 'validation_error',
    says: 'The server and the MCP servers behind it have no such resource, or this key cannot use it.',
    message: (d: { server_name: string; uri: string }) => `The server "${d.server_name}" has no resource "${d.uri}".`,
  },
  MODE_RESTRICTED: {
    status: 403,
    recorded: 'permission_denied',
    says: 'The mode of the call does not allow the action.',
    message: (d: { action: string; mode: string; reason: string }) =>
      `"${d.action}" is not allowed in the mode "${d.mode}": ${d.reason}.`,
  },
  SIGN_IN_REQUIRED: {
    status: 403,
    recorded: 'permission_denied',
    says: 'In its mode, the call needs a person who signed in recently.',
    message: (d: { action: string; mode: string; seconds: number; is_person: boolean }) =>
      `In the mode "${d.mode}", "${d.action}" needs a person who signed in within the last ${d.seconds} seconds. ${d.is_person ? 'Sign in again, then repeat the call.' : 'API keys cannot make this call.'}`,
  },
  MODE_NOT_ALLOWED: {
    status: 403,
    recorded: 'permission_denied',
    says: 'The request names a mode that its key cannot use.',
    message: (d: { mode: string; modes: readonly string[] }) =>
      `This key cannot use the mode "${d.mode}".${d.modes.length > 0 ? ` It can use ${quoted(d.modes)}.` : ' It has no modes.'}`,
  },
  TOOL_NOT_ACTIVE: {
    status: 400,
    says: 'A model called a tool that is not in `active_tool_ids` in this step.',
    message: (d: { tool_name: string; active: readonly string[] }) =>
      `The tool "${d.tool_name}" is not active in this step.${d.active.length > 0 ? ` Active tools: ${quoted(d.active)}.` : ' No tool is active.'}`,
  },
  ROUTE_NOT_FOUND: {
    status: 404,
    says: 'No route matches this path.',
    message: (d: { path: string; nearest?: readonly string[] }) =>
      `No route matches ${d.path}.${didYouMeanOneOf(d.nearest ?? [])} GET /api/v1/openapi.json lists all routes.`,
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    says: 'The path does not support this method.',
    message: (d: { method: string; path: string; allowed: readonly string[] }) =>
      `${d.path} does not support ${d.method}. Use ${d.allowed.join(' or ')}.`,
    headers: (d: { allowed: readonly string[] }) => ({ allow: d.allowed.join(', ') }),
  },
  NAME_TAKEN: {
    status: 409,
    says: 'Another resource in the project already has this name or path.',
    message: (d: { kind: string; name: string }) =>
      `Another ${d.kind} is already named "${d.name}". Choose a different name.`,
  },
  AMBIGUOUS_NAME: {
    status: 409,
    says: 'Several resources have the name that was given instead of an id.',
    message: (d: { kind: string; name: string; candidates: readonly { id: string; app?: string }[] }) =>
      `Several ${d.kind}s are named "${d.name}": ${d.candidates
        .map(({ id, app }) => (app ? `${app}/${d.name} (${id})` : id))
        .sort()
        .join(', ')}. Use one of these instead.`,
  },
  HAS_DEPENDENTS: {
    status: 409,
    says: 'Other resources still use this one.',
    message: (d: { kind: string; id: string; dependents: readonly string[]; force?: string }) =>
      `The ${d.kind} "${d.id}" is still used by ${d.dependents.join(', ')}. Detach or delete those first${d.force ? `, or delete it anyway with ${d.force}` : ''}.`,
  },
  LAST_ADMIN_KEY: {
    status: 409,
    says: 'The change would leave no key and no person that can create admin keys, and nobody could get back in.',
    message: (_: Record<never, never>) =>
      'This change would lock everyone out: no remaining key or person could create admin keys. Create another admin key first (access_policy_ids ["pol_administrator"], no project_id).',
  },
  ACTION_WITHHELD: {
    status: 409,
    recorded: 'rejected',
    says: 'The definition of the action changed after it was accepted, and the tool pins definitions.',
    message: (d: { action: string; tool_id: string }) =>
      `The definition of "${d.action}" changed after it was accepted. Calls are blocked until an operator reviews the change (GET /tools/${d.tool_id}/definition-changes) and accepts it (POST /tools/${d.tool_id}/accept-definitions).`,
  },
  DEFINITION_CHANGED: {
    status: 409,
    says: 'The definition changed again after you fetched it, so it was not accepted.',
    message: (d: { tool_id: string; names: readonly string[] }) =>
      `${quoted(d.names)} changed or ${d.names.length === 1 ? 'was' : 'were'} removed after you fetched the definitions. Nothing was accepted. Fetch the changes again (GET /tools/${d.tool_id}/definition-changes) and retry.`,
  },
  OUTPUT_GIVEN: {
    status: 409,
    says: 'A different output was already submitted for this tool call.',
    message: (d: { tool_call_id: string }) =>
      `A different output for "${d.tool_call_id}" was already submitted. The first one is kept.`,
  },
  OUTPUTS_EXPIRED: {
    status: 409,
    says: 'The output of a client tool was not submitted in time, so the run failed.',
    message: (d: { tool_call_id: string; tool_name: string }) =>
      `The output of the client tool "${d.tool_name}" (${d.tool_call_id}) was not submitted in time, so the run failed. Start a new run.`,
  },
  APPROVAL_STALE: {
    status: 409,
    recorded: 'rejected',
    endsApproval: true,
    says: 'The tool changed after approval was requested, so the approval no longer applies.',
    message: (d: { action: string; approval_id: string }) =>
      `"${d.action}" changed after approval was requested, so the approval no longer applies. The call was not made. Call again to request a new approval.`,
  },
  APPROVAL_USED: {
    status: 409,
    recorded: 'rejected',
    endsApproval: true,
    says: 'An approval is valid for one call, and another call with the same input used it.',
    message: (d: { action: string }) =>
      `The approval for "${d.action}" with this input was used by another of your calls, made at the same time. Call again if you want to make a second call.`,
  },
  APPROVAL_DECIDED: {
    status: 409,
    says: 'The approval was already decided or has expired.',
    message: (d: { approval_id: string; status: string; decided_by: string | null }) =>
      `${d.approval_id} is no longer pending: its status is "${d.status}"${d.decided_by ? `, set by ${d.decided_by}` : ''}.`,
  },
  APPROVAL_CHANGED: {
    status: 409,
    says: 'Someone changed the arguments of the call after you reviewed them.',
    message: (d: { approval_id: string; args_hash: string }) =>
      `Someone changed the arguments of ${d.approval_id} after you reviewed them. Review them again before you decide.`,
  },
  SECOND_PERSON_REQUIRED: {
    status: 409,
    says: 'Two different people must approve, and this person already has. A person and the keys they created count as one person, and so do a key and the keys it created.',
    message: (d: { approval_id: string; approved_by?: string }) =>
      d.approved_by === undefined
        ? `You have already approved ${d.approval_id}. It needs two people, so someone else must also approve it.`
        : `"${d.approved_by}" has already approved ${d.approval_id}, and both of you count as one person, because the same person created your keys or one key created the other. It needs two people, so someone else must also approve it.`,
  },
  WORKFLOW_FAILED: {
    status: 502,
    says: 'A step of a workflow failed. The details name the step and its error, and the run.',
    message: (d: { workflow: string; step: string; item?: number; run_id: string; code: string; reason: string }) =>
      ended(
        `The workflow "${d.workflow}" failed at step "${d.step}"${d.item === undefined ? '' : ` (item ${d.item})`}: ${d.reason}`,
      ),
  },
  WORKFLOW_RUNNING: {
    status: 504,
    says: 'The workflow did not end within the timeout of the call. Its run continues.',
    message: (d: { workflow: string; run_id: string; status: string; approval_ids: readonly string[] }) =>
      `The workflow "${d.workflow}" is still ${d.status}${d.approval_ids.length === 0 ? '' : `, for approval ${d.approval_ids.join(', ')}`}. Its run ${d.run_id} continues: see GET /workflow-runs/${d.run_id}. Do not call it again.`,
  },
  WORKFLOW_CANCELLED: {
    status: 409,
    recorded: 'rejected',
    says: 'The run of a workflow was cancelled.',
    message: (d: { workflow: string; run_id: string }) => `The run ${d.run_id} of "${d.workflow}" was cancelled.`,
  },
  RUN_NOT_RESUMABLE: {
    status: 409,
    says: 'Only a run that failed or was cancelled can be resumed, and only a run that is over can be repeated.',
    message: (d: { run_id: string; status: string }) =>
      `The run ${d.run_id} is ${d.status}. Only a run that failed or was cancelled can be resumed.`,
  },
  RUN_OVER: {
    status: 409,
    says: 'The run is over, so it takes no more events.',
    message: (d: { run_id: string; status: string }) =>
      `The run ${d.run_id} is ${d.status}, so it does not wait for events any more.`,
  },
  EVENT_LIMIT: {
    status: 409,
    says: 'A run has received too many events that no step has used.',
    message: (d: { run_id: string; limit: number }) =>
      `The run ${d.run_id} already has ${d.limit} events that no step has used. Send the next one when it waits for it.`,
  },
  EVENT_TIMEOUT: {
    status: 504,
    says: 'A step of a workflow waited for an event that did not arrive in time.',
    message: (d: { event: string }) => `The event "${d.event}" did not arrive in time.`,
  },
  CODE_FAILED: {
    status: 422,
    says: 'A program in code mode is not valid, threw an error, or exceeded a limit.',
    message: (d: { reason: string }) => ended(`The program failed: ${d.reason}`),
  },
  CODE_NOT_DETERMINISTIC: {
    status: 409,
    says: 'A program in code mode made another call than before when it was continued.',
    message: (d: { call: number; before: string; now: string }) =>
      `The program cannot be continued: its call ${d.call} was "${d.before}" before, and is "${d.now}" or has other input now.`,
  },
  EXPRESSION_FAILED: {
    status: 422,
    says: 'An expression of a workflow could not be evaluated with the values of this run.',
    message: (d: { path: string; expression: string; reason: string }) =>
      ended(`The expression "${d.expression}" at ${d.path} failed: ${d.reason}`),
  },
  ACTION_NOT_FOUND: {
    status: 404,
    says: 'A step of a workflow or a program calls an action that does not exist, or no longer.',
    message: (d: { action: string; hint?: string }) => `There is no action "${d.action}".${d.hint ?? ''}`,
  },
  TOOL_REPORTED_ERROR: {
    status: 502,
    says: 'The tool ran and reported an error.',
    message: (d: { action: string; output: Json }) =>
      ended(`"${d.action}" reported an error: ${typeof d.output === 'string' ? d.output : JSON.stringify(d.output)}`),
  },
  OUTCOME_UNKNOWN: {
    status: 409,
    says: 'The call was interrupted after it started, by a crash or a lost database connection, so it may have taken effect.',
    message: (d: { action: string }) =>
      `The call to "${d.action}" was interrupted after it started, so it may have taken effect. Check before you call again.`,
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    says: 'The first request with this Idempotency-Key has not finished.',
    message: (d: { key: string }) =>
      `The first request with Idempotency-Key "${d.key}" has no recorded response: it is still running or was interrupted. Retry in a moment. If this error persists, check whether the request took effect before you use a new key.`,
  },
  WEBHOOK_DISABLED: {
    status: 409,
    says: 'The webhook is disabled, so nothing is sent to it.',
    message: (d: { webhook: string }) =>
      `The webhook "${d.webhook}" is disabled. Enable it before you send to it again.`,
  },
  TOO_MANY_WEBHOOKS: {
    status: 409,
    says: 'The project has reached its limit of webhooks.',
    message: (d: { limit: number }) =>
      `The project already has ${d.limit} webhooks, which is the limit. Delete one first.`,
  },
  BODY_TOO_LARGE: {
    status: 413,
    says: 'The request body is larger than the limit.',
    message: (d: { limit: number }) =>
      `The request body is larger than the limit of ${d.limit} bytes. Operators can raise it with QM_BODY_LIMIT for JSON and QM_FILE_LIMIT for files.`,
  },
  MESSAGE_TOO_LARGE: {
    status: 413,
    says: 'The message with XML blocks is larger than 1 MiB.',
    message: (d: { limit: number }) =>
      `The message is larger than the limit of ${d.limit} bytes. Send the part of it that has the blocks.`,
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    says: 'The route does not accept this Content-Type.',
    message: (d: { content_type: string; expected: string }) =>
      `This route expects Content-Type ${d.expected}, not "${d.content_type}".`,
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    says: 'The Range header asks for bytes outside the file.',
    message: (d: { size: number }) => `The requested range is outside the file, which has ${d.size} bytes.`,
    headers: (d: { size: number }) => ({ 'content-range': `bytes */${d.size}` }),
  },
  TOOL_CALL_NOT_SUPPORTED: {
    status: 422,
    says: 'The tool runs in your application, so the platform cannot call it.',
    message: (d: { tool: string; type: string }) =>
      `"${d.tool}" is a ${d.type} tool. It runs in your application, so the platform cannot call it directly.`,
  },
  TOOL_TYPE_UNAVAILABLE: {
    status: 422,
    says: 'The tool has a type that this platform does not have: the program that embeds it no longer adds it.',
    message: (d: { type: string }) =>
      `This platform does not have the tool type "${d.type}". Start it with that type, or change the type of the tool.`,
  },
  CALL_TOO_DEEP: {
    status: 422,
    says: 'Calls are nested too deeply. Tools may be calling each other in a loop.',
    message: (d: { depth: number }) =>
      `Calls are nested ${d.depth} levels deep, which is the limit. Check whether tools call each other in a loop.`,
  },
  SECRET_NOT_FOUND: {
    status: 422,
    says: 'The tool references a secret that does not exist in the project.',
    message: (d: { secret: string }) =>
      `The tool references the secret "${d.secret}", which does not exist in this project. Create it with POST /secrets.`,
  },
  SECRET_VARIABLE_NOT_SET: {
    status: 422,
    says: 'A secret is read from an environment variable that is not set, or not listed in QM_SECRET_VARIABLES.',
    message: (d: { secret: string; variable: string }) =>
      `The secret "${d.secret}" is read from the environment variable ${d.variable}, which is not set for the platform or not listed in QM_SECRET_VARIABLES.`,
  },
  SECRET_FILE_UNREADABLE: {
    status: 422,
    says: 'A secret is read from a file that is missing, empty, too large or outside of QM_SECRET_FILES.',
    message: (d: { secret: string; file: string; reason: string }) =>
      `The secret "${d.secret}" is read from the file "${d.file}", which ${d.reason}. An operator must put it into the folder QM_SECRET_FILES.`,
  },
  MODEL_CONTEXT_TOO_LONG: {
    status: 422,
    says: 'The conversation is longer than the model’s context window.',
    message: (d: { provider: string; model: string; excerpt?: string }) =>
      `The conversation is too long for "${d.model}". Start a new one, send fewer messages (max_context_messages), or use a model with a larger context window.`,
  },
  MODEL_REFUSED: {
    status: 422,
    says: 'The model or its provider’s content filter refused to answer.',
    message: (d: { provider: string; model: string; excerpt?: string }) =>
      `"${d.model}" refused to answer: the model or its provider's content filter rejected the conversation. Rephrase it, or use another model.`,
  },
  MODEL_NOT_FOUND: {
    status: 422,
    says: 'The provider has no such model, or its base_url is not an API of this type.',
    message: (d: { provider: string; model: string; excerpt?: string }) =>
      `"${d.provider}" has no model "${d.model}". Check the model name and the provider's base_url.`,
  },
  MODEL_REQUEST_REFUSED: {
    status: 502,
    says: 'The provider rejected the request for a reason that has no error code of its own.',
    message: (d: { provider: string; model: string; status: number; excerpt?: string }) =>
      `"${d.provider}" rejected the request (${d.status})${d.excerpt ? `: ${d.excerpt}` : ''}. Check the provider's type and base_url, and whether the model supports this request.`,
  },
  REPLAY_STEP_MISSING: {
    status: 422,
    says: 'No step of the replay script matches the conversation.',
    message: (d: { provider: string; asked: string; expected: readonly string[] }) =>
      `No step of the script "${d.provider}" matches the request: ${d.asked}. The steps are: ${d.expected.join('; ') || 'none'}. Add a step for this request, or change the condition of one.`,
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    says: 'The Idempotency-Key was already used with a different request.',
    message: (d: { key: string }) =>
      `Idempotency-Key "${d.key}" was already used with a different request. Use a new key for each new request.`,
  },
  MANIFEST_SERVERS_UNREACHABLE: {
    status: 502,
    says: 'MCP servers of a manifest could not be reached, so it was not applied. Each is named with the reason.',
    message: (d: { servers: readonly { id: string; url: string; reason: string }[] }) =>
      ended(
        `${d.servers.length === 1 ? 'An MCP server' : `${d.servers.length} MCP servers`} of the manifest cannot be reached: ${d.servers.map(({ id, url, reason }) => `"${id}" at ${url} (${reason.replace(/[.]$/, '')})`).join('; ')}`,
      ),
  },
  RATE_LIMITED: {
    status: 429,
    says: 'The key exceeded its rate limit.',
    message: (d: { limit: number; retry_after_seconds: number }) =>
      `Rate limit exceeded: this key can make ${d.limit} requests per minute. Try again in ${d.retry_after_seconds} s.`,
    headers: (d: { limit: number; retry_after_seconds: number }) => ({
      'ratelimit-limit': String(d.limit),
      'ratelimit-remaining': '0',
      'ratelimit-reset': String(d.retry_after_seconds),
      'retry-after': String(d.retry_after_seconds),
    }),
  },
  TOO_MANY_APPROVALS: {
    status: 429,
    recorded: 'rejected',
    says: 'The key already has the maximum number of calls waiting for approval. The call was not made.',
    message: (d: { action: string; limit: number }) =>
      `"${d.action}" needs approval, but this key already has ${d.limit} calls waiting for approval, which is the limit. The call was not made. Wait until some are decided, or withdraw some, then call again.`,
  },
  MODEL_RATE_LIMITED: {
    status: 429,
    says: 'The provider’s rate limit or the account’s spending limit was reached.',
    message: (d: { provider: string; attempts: number; quota: boolean; retry_after_seconds?: number }) =>
      d.quota
        ? `The account at "${d.provider}" has reached its spending limit. Check its plan and billing.`
        : `"${d.provider}" rate-limited the request (tried ${d.attempts} times). Try again ${d.retry_after_seconds ? `in ${d.retry_after_seconds} s` : 'later'}, or ask the provider for a higher limit.`,
  },
  TOO_MANY_SIGN_INS: {
    status: 429,
    says: 'Too many failed sign-ins to the dashboard from one address.',
    message: (d: { retry_after_seconds: number }) =>
      `Too many failed sign-ins from your address. Try again in ${d.retry_after_seconds} s.`,
    headers: (d: { retry_after_seconds: number }) => ({ 'retry-after': String(d.retry_after_seconds) }),
  },
  CALL_CANCELLED: {
    status: 499,
    says: 'The caller cancelled the call while it was running.',
    message: (_: Record<never, never>) =>
      'The caller cancelled the call. It may have taken effect: check before you call again.',
  },
  INTERNAL: {
    status: 500,
    says: 'An error inside the platform. The log has the details.',
    message: (d: { request_id?: string }) =>
      `Something went wrong inside the platform.${d.request_id ? ` Search the log for ${d.request_id}.` : ''}`,
  },
  SECRET_UNREADABLE: {
    status: 500,
    says: 'A stored secret was modified or moved in the database and cannot be decrypted.',
    message: (d: { place: string }) =>
      `The secret stored at ${d.place} was modified or moved in the database and cannot be decrypted. Set it again.`,
  },
  SECRET_KEY_WRONG: {
    status: 500,
    says: 'The secrets in the database are encrypted with a different key than the one this process has.',
    message: (d: { wanted: string; found: string | null; source: string; previous?: string }) =>
      `The secrets in this database are encrypted with the key ${d.wanted}, but this process has ${
        d.found === null ? 'no key' : `${d.found} (${d.source})`
      }${
        d.previous === undefined ? '' : ` and ${d.previous} (QM_SECRET_KEY_PREVIOUS)`
      }. Start every process with the same QM_SECRET_KEY, or with the secret.key file of the data folder that encrypted them. To rotate the key, set the old one as QM_SECRET_KEY_PREVIOUS.`,
  },
  MODEL_KEY_REFUSED: {
    status: 502,
    says: 'The provider rejected the API key, or requires one.',
    message: (d: { provider: string; status: number; has_key: boolean }) =>
      d.has_key
        ? `"${d.provider}" rejected the API key (${d.status}). Set another one with PATCH /ai-providers/{id}, or give the key the permissions it lacks.`
        : `"${d.provider}" requires an API key (${d.status}). Set one with PATCH /ai-providers/{id}.`,
  },
  MODEL_UNAVAILABLE: {
    status: 502,
    says: 'The provider could not be reached, failed, or closed the connection.',
    message: (d: { provider: string; reason: string; attempts: number }) =>
      `"${d.provider}" is unavailable: ${d.reason} (tried ${d.attempts} times). Try again later, or check its base_url.`,
  },
  MODEL_ANSWER_INVALID: {
    status: 502,
    says: 'The provider returned a response that does not match its API.',
    message: (d: { provider: string; reason: string; excerpt?: string }) =>
      `"${d.provider}" returned an invalid response: ${d.reason}. Check that its type and base_url match.`,
  },
  PUBLIC_URL_REQUIRED: {
    status: 500,
    says: 'Signing in with a company account needs the public URL of the platform.',
    message: (_: Record<never, never>) => 'Set QM_PUBLIC_URL to the URL under which people open the platform.',
  },
  SIGN_IN_PROVIDER_FAILED: {
    status: 502,
    says: 'The sign-in provider could not be reached, or its answer is not valid.',
    message: (d: { provider: string; reason: string }) => ended(`Signing in with "${d.provider}" failed: ${d.reason}`),
  },
  CONNECTION_REQUIRED: {
    status: 409,
    says: 'The call needs an account that is not connected, or must be connected again. Nothing was done. Open `connect_url`, and call again.',
    recorded: 'permission_denied',
    message: (d: {
      app: string
      reason: 'missing' | 'expired' | 'revoked' | 'insufficient_scope'
      connect_url: string | null
      expires_at: string | null
    }) =>
      `${
        {
          missing: `"${d.app}" is not connected.`,
          expired: `The connection to "${d.app}" has expired.`,
          revoked: `The connection to "${d.app}" was revoked.`,
          insufficient_scope: `The connection to "${d.app}" does not have the permissions that this call needs.`,
        }[d.reason]
      } ${
        d.connect_url === null
          ? 'Connect an account with POST /connections, and call again.'
          : `Open ${d.connect_url} to connect an account, and call again.`
      }`,
  },
  CONNECTION_FAILED: {
    status: 422,
    says: 'The account could not be connected: its authorization server refused, or its settings are wrong.',
    message: (d: { reason: string }) => `The account could not be connected: ${d.reason}.`,
  },
  CONNECT_LINK_INVALID: {
    status: 410,
    says: 'A link to connect an account is unknown, expired, or was used before.',
    message: (d: { reason: 'unknown' | 'expired' | 'used' }) =>
      `${
        {
          unknown: 'This link is not valid. Check that you copied all of it.',
          expired: 'This link has expired.',
          used: 'This link was already used.',
        }[d.reason]
      } To get a new one, repeat what you were doing.`,
  },
  CONNECT_STATE_INVALID: {
    status: 400,
    says: 'The return from an authorization server is unknown, expired, incomplete, or was used before.',
    message: (_: Record<never, never>) => 'This sign-in is not valid any more. Open the link again, and start over.',
  },
  CONNECT_OTHER_BROWSER: {
    status: 403,
    says: 'A link to connect an account was opened in another browser before.',
    message: (_: Record<never, never>) => 'This link was opened in another browser. Continue there, or get a new link.',
  },
  CONNECT_WRONG_PERSON: {
    status: 403,
    says: 'A link to connect an account was made for another user.',
    message: (d: { signed_in: boolean }) =>
      d.signed_in
        ? 'This link was made for another user. Sign in as that user to connect the account.'
        : 'Sign in first. This link was made for one user, and only that user can connect the account.',
  },
  RETURN_URL_NOT_ALLOWED: {
    status: 400,
    says: 'The `return_url` of a link is not on an origin that the project lists.',
    message: (d: { origin: string }) =>
      `"${d.origin}" is not in the return_origins of the project. Add it with PATCH /projects/{id}.`,
  },
  TOOL_HTTP_ERROR: {
    status: 502,
    says: 'The URL of an http tool returned an error status.',
    message: (d: { tool_status_code: number; tool_url: string; tool_method: string; tool_response_body?: unknown }) =>
      `The tool's URL returned status ${d.tool_status_code} for ${d.tool_method}.`,
  },
  TOOL_FAILED: {
    status: 502,
    says: 'The tool ran and reported an error in its result.',
    message: (_: Record<never, never>) => 'The tool reported an error. Its result says what went wrong.',
  },
  TOOL_UNREACHABLE: {
    status: 502,
    says: 'The host that a tool calls could not be reached, or the connection was lost.',
    message: (d: { host: string; reason: string }) => `Could not reach "${d.host}": ${d.reason}.`,
  },
  TOOL_PROTOCOL_ERROR: {
    status: 502,
    says: 'The MCP server behind a tool returned an error or an invalid response.',
    message: (d: { host: string; reason: string }) =>
      `The request to the MCP server at "${d.host}" failed: ${d.reason}.`,
  },
  TOOL_SCHEMA_INVALID: {
    status: 502,
    says: 'The MCP server’s input schema is not valid JSON Schema.',
    message: (d: { action: string; reason: string }) =>
      `The input schema of "${d.action}" is not valid JSON Schema: ${d.reason}. It must be fixed on the MCP server.`,
  },
  RESPONSE_TOO_LARGE: {
    status: 502,
    says: 'The tool’s response is larger than the limit.',
    message: (d: { limit: number }) =>
      `The tool's response is larger than the limit of ${d.limit} bytes. Request less data at a time.`,
  },
  RESPONSE_TOO_COMPLEX: {
    status: 502,
    says: 'The JSON in the tool’s response has too many values.',
    message: (d: { reason: string }) => `The JSON in the tool's response ${d.reason}. Request less data at a time.`,
  },
  TOO_MANY_REDIRECTS: {
    status: 502,
    says: 'The tool’s URL redirected too many times.',
    message: (d: { limit: number }) => `The tool's URL redirected more than ${d.limit} times.`,
  },
  TOO_MANY_IMPORTS: {
    status: 503,
    says: 'Too many API documents are waiting to be imported by this process. Nothing was changed.',
    message: (d: { most: number }) =>
      `${d.most} documents are already waiting to be imported, which is the limit. Nothing was changed. Try again in a minute.`,
    headers: () => ({ 'retry-after': '60' }),
  },
  TOO_MANY_LISTENERS: {
    status: 503,
    says: 'This process has reached its limit of MCP clients that listen for changes.',
    message: (d: { most: number }) =>
      `${d.most} clients already listen for changes, which is the limit. Try again later.`,
  },
  DATABASE_UNAVAILABLE: {
    status: 503,
    says: 'The database cannot be reached or written to. If `retry_safe` is true, nothing was changed and you can send the request again.',
    message: (d: { reason: string; retry_safe: boolean }) =>
      d.retry_safe
        ? `The database is unavailable: ${d.reason}. Nothing was changed. Try again in a moment.`
        : `The database is unavailable: ${d.reason}. The change may have been saved. Check before you send it again.`,
    headers: () => ({ 'retry-after': '1' }),
  },
  SHUTTING_DOWN: {
    status: 503,
    says: 'The platform is shutting down and accepts no new requests.',
    message: (_: Record<never, never>) => 'The platform is shutting down. Try again in a moment.',
    headers: () => ({ 'retry-after': '5', connection: 'close' }),
  },
  MODEL_TIMEOUT: {
    status: 504,
    says: 'The provider sent no data within its timeout.',
    message: (d: { provider: string; seconds: number }) =>
      `"${d.provider}" sent no data for ${d.seconds} s. Try again, or increase the provider's timeout_seconds.`,
  },
  TOOL_TIMEOUT: {
    status: 504,
    says: 'The tool exceeded its timeout.',
    message: (d: { seconds: number }) =>
      `The tool did not respond within ${d.seconds} s. It may have taken effect: check before you call again.`,
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof catalogue
export type ErrorDetails<C extends ErrorCode> = Parameters<(typeof catalogue)[C]['message']>[0]

/** An error that a caller can see. The `cause` is only logged. */
export class PlatformError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'PlatformError'
  readonly code: C
  readonly status: number
  readonly details: ErrorDetails<C>

  constructor(code: C, details: ErrorDetails<C>, options?: { cause?: unknown }) {
    super((catalogue[code].message as (d: ErrorDetails<C>) => string)(details), options)
    this.code = code
    this.status = catalogue[code].status
    this.details = details
  }

  get entry(): CatalogueEntry {
    return catalogue[this.code]
  }

  get headers(): Readonly<Record<string, string>> {
    return this.entry.headers?.(this.details as never) ?? {}
  }
}

export interface ErrorBody {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly details: Record<string, unknown> }
}

export const errorBody = (error: PlatformError): ErrorBody => ({
  error: { code: error.code, message: error.message, details: { ...error.details } },
})
