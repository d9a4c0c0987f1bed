/**
 * Every error a caller can see. A surface answers from this table and `docs/reference/errors.md` is printed from it.
 * A released code keeps its meaning.
 */

import { didYouMeanOneOf } from '../lib/nearest.ts'

/** One thing wrong with an input: where, in a caller's words, and what. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** All that is wrong, each with its place, without an end. */
export const inWords = (faults: readonly Fault[]) =>
  faults.map((fault) => (fault.path === '' ? fault.message : `${fault.path}: ${fault.message}`)).join('; ')

/** A sentence that someone wrote, with an end. */
const ended = (text: string) => (/[.!?…]$/.test(text.trim()) ? text.trim() : `${text.trim()}.`)

const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ')

/** How a run stands that takes no outputs. */
const standing = (status: string) =>
  ({ requires_action: 'waits for an approval', in_progress: 'is under way' })[status] ??
  (status === 'cancelled' ? 'was cancelled' : `has ${status}`)

interface CatalogueEntry {
  readonly status: number
  /** For the reference. */
  readonly says: string
  readonly message: (details: never) => string
  /** How the record has a call that ends with it, where that does not follow from the status. */
  readonly recorded?: 'permission_denied' | 'rejected' | 'validation_error'
  /** Whether it says how an approval ended, so that the call did nothing but wait. */
  readonly endsApproval?: true
  /** HTTP headers that clients expect with it. */
  readonly headers?: (details: never) => Readonly<Record<string, string>>
}

export const catalogue = {
  VALIDATION_FAILED: {
    status: 400,
    recorded: 'validation_error',
    says: 'The input does not have the shape that was asked for; every failing path is listed.',
    message: (d: { errors: readonly Fault[] }) => ended(`The input is not valid: ${inWords(d.errors)}`),
  },
  INVALID_JSON: {
    status: 400,
    says: 'The request body is not JSON.',
    message: (d: { reason: string }) => `The request body is not valid JSON: ${d.reason}.`,
  },
  BODY_INCOMPLETE: {
    status: 400,
    says: 'The connection ended before the whole request body had arrived.',
    message: (_: Record<never, never>) => 'The request body broke off before its end.',
  },
  PROJECT_REQUIRED: {
    status: 400,
    says: 'The key is bound to no project, there are several, and the request names none.',
    message: (_: { projects: number }) => 'There are several projects: name one in "project_id".',
  },
  ANSWER_NOT_AWAITED: {
    status: 400,
    says: 'An MCP client answered a question that nobody here waits for.',
    message: (_: Record<never, never>) =>
      'Nobody waits for this answer here: its call is over, or runs in another process of the platform.',
  },
  UNAUTHENTICATED: {
    status: 401,
    recorded: 'permission_denied',
    says: 'No API key was sent, or the key is unknown, revoked or expired; or the session at the dashboard has ended.',
    message: (d: { reason: 'missing' | 'unknown' | 'expired' | 'signed out' }) =>
      ({
        'signed out': 'The session has ended: sign in again.',
        missing: 'An API key is needed: send it as "Authorization: Bearer sk_…".',
        unknown: 'This API key is not known: check that it is complete. It may also have been revoked.',
        expired: 'This API key has expired: ask for a new one.',
      })[d.reason],
    headers: () => ({ 'www-authenticate': 'Bearer realm="quartermaster"' }),
  },
  KEY_GONE: {
    status: 403,
    says: 'The key that started a run was revoked or has expired, so the run cannot go on.',
    message: (d: { name: string }) => `The key "${d.name}" that started this was revoked or has expired.`,
  },
  FOREIGN_ORIGIN: {
    status: 403,
    says: 'The request comes from a page of another site, or by another name of this machine.',
    message: (d: { header: 'Host' | 'Origin' }) =>
      `The ${d.header} header names another site, so the request is refused.`,
  },
  FORGED_REQUEST: {
    status: 403,
    says: 'The request carries the cookie of the dashboard but does not come from it.',
    message: (_: { reason: 'origin' | 'token' }) =>
      'This request has the cookie of a session but does not come from the dashboard: reload its page, or send an API key instead.',
  },
  FORBIDDEN: {
    status: 403,
    recorded: 'permission_denied',
    says: 'The key is not allowed to do this; `layer` tells which rule said no.',
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
    says: 'The tool points at an address that this platform does not call.',
    message: (d: { host: string; reason: string }) => `The platform does not call "${d.host}": ${d.reason}.`,
  },
  APPROVAL_REJECTED: {
    status: 403,
    recorded: 'rejected',
    endsApproval: true,
    says: 'A person looked at the call and said no; it was not made.',
    message: (d: { action: string; approval_id: string; reason: string | null }) =>
      `The call of "${d.action}" was rejected by a reviewer${d.reason ? `: ${ended(d.reason)}` : '.'} It was not made. Try something else, or ask what would be acceptable.`,
  },
  APPROVAL_EXPIRED: {
    status: 403,
    recorded: 'rejected',
    endsApproval: true,
    says: 'Nobody decided on the call in time, or it was approved and not made in time; it was not made.',
    message: (d: { action: string; approval_id: string; approved: boolean }) =>
      d.approved
        ? `The approval for "${d.action}" has expired: it was given, but the call was not made in time. Call again to ask anew.`
        : `The call of "${d.action}" needs approval, and nobody decided in time, so it counts as rejected. It was not made. Try something else, or call again to ask anew.`,
  },
  APPROVAL_CANCELLED: {
    status: 403,
    recorded: 'rejected',
    endsApproval: true,
    says: 'The request for approval was withdrawn before the call was made.',
    message: (d: { action: string; approval_id: string }) =>
      `The request to approve "${d.action}" was withdrawn, and the call was not made.`,
  },
  SELF_APPROVAL: {
    status: 403,
    says: 'The one who asked for an approval cannot decide on it, nor can a key that it created, directly or through other keys.',
    message: (d: { approval_id: string; reason: 'same key' | 'created by the requester' }) =>
      d.reason === 'same key'
        ? `${d.approval_id} was asked for with this very key: someone else must decide on it, with a key of their own.`
        : `Your key was created by the key that made the call, so both count as one person. ${d.approval_id} must be decided by someone else: with the key that created the requester's key, or with another one that it created.`,
  },
  PERSON_REQUIRED: {
    status: 403,
    says: 'Only a person decides on an approval: not a tool, an agent or a model.',
    message: (_: Record<never, never>) =>
      'This is for a person to decide: it cannot be done from within a call of a tool or an agent.',
  },
  RESOURCE_NOT_FOUND: {
    status: 404,
    says: 'There is no such thing, or this key may not see it.',
    message: (d: { kind: string; id: string; did_you_mean?: readonly string[] }) =>
      `There is no ${d.kind} "${d.id}".${didYouMeanOneOf(d.did_you_mean ?? [])}`,
  },
  GENERATION_NOT_FOUND: {
    status: 404,
    says: 'There is no such generation of this agent, this key may not see it, or it waits for no outputs.',
    message: (d: { generation_id: string; status?: string; error_code?: string | undefined }) =>
      d.status === undefined
        ? `There is no generation "${d.generation_id}" of this agent.`
        : `The generation "${d.generation_id}" waits for no outputs: it ${standing(d.status)}${d.error_code ? ` (${d.error_code})` : ''}. Look at it with GET /generations/${d.generation_id}.`,
  },
  UNKNOWN_TOOL: {
    status: 404,
    says: 'A model or an MCP client called a tool that its agent or server does not have.',
    message: (d: { tool_name: string; known: readonly string[]; hint?: string }) =>
      `There is no tool "${d.tool_name}"${d.hint === undefined ? '' : ' on this server'}.${d.hint ?? (d.known.length > 0 ? ` There is ${quoted(d.known)}.` : '')}`,
  },
  TOOL_NOT_ACTIVE: {
    status: 400,
    says: 'A model called a tool that `active_tool_ids` leaves out in this step.',
    message: (d: { tool_name: string; active: readonly string[] }) =>
      `The tool "${d.tool_name}" is not active in this step.${d.active.length > 0 ? ` Active are ${quoted(d.active)}.` : ' No tool is.'}`,
  },
  ROUTE_NOT_FOUND: {
    status: 404,
    says: 'No route has this path.',
    message: (d: { path: string; nearest?: readonly string[] }) =>
      `There is nothing at ${d.path}.${didYouMeanOneOf(d.nearest ?? [])} GET /api/v1/openapi.json lists what there is.`,
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    says: 'The path exists, but not with this method.',
    message: (d: { method: string; path: string; allowed: readonly string[] }) =>
      `${d.path} does not take ${d.method}, only ${d.allowed.join(', ')}.`,
    headers: (d: { allowed: readonly string[] }) => ({ allow: d.allowed.join(', ') }),
  },
  NAME_TAKEN: {
    status: 409,
    says: 'Another record of the project has this name or path.',
    message: (d: { kind: string; name: string }) => `There is already a ${d.kind} "${d.name}": choose another name.`,
  },
  AMBIGUOUS_NAME: {
    status: 409,
    says: 'Several records have the name that was given in place of an id.',
    message: (d: { kind: string; name: string; candidates: readonly { id: string; app?: string }[] }) =>
      `Several ${d.kind}s are named "${d.name}": ${d.candidates
        .map(({ id, app }) => (app ? `${app}/${d.name} (${id})` : id))
        .sort()
        .join(', ')}. Use one of these.`,
  },
  HAS_DEPENDENTS: {
    status: 409,
    says: 'Something still uses the record.',
    message: (d: { kind: string; id: string; dependents: readonly string[]; force?: string }) =>
      `The ${d.kind} "${d.id}" is still used by ${d.dependents.join(', ')}: detach or delete those first${d.force ? `, or repeat the request with ${d.force}` : ''}.`,
  },
  LAST_ADMIN_KEY: {
    status: 409,
    says: 'After this, no key could create keys any more and give them access, so that nobody could get back in.',
    message: (_: Record<never, never>) =>
      'After this, no key could create admin keys any more, and nobody could get back in: create another admin key first (access_policy_ids ["pol_administrator"], no project_id).',
  },
  ACTION_WITHHELD: {
    status: 409,
    recorded: 'rejected',
    says: 'The action is described otherwise than when it was accepted, and the tool pins definitions.',
    message: (d: { action: string; tool_id: string }) =>
      `"${d.action}" is described otherwise than when it was accepted, so it is not called until an operator has looked at it and accepted it (GET /tools/${d.tool_id}/definition-changes shows the change, POST /tools/${d.tool_id}/accept-definitions accepts it).`,
  },
  DEFINITION_CHANGED: {
    status: 409,
    says: 'The action is described otherwise than what was read, so that it is not accepted.',
    message: (d: { tool_id: string; names: readonly string[] }) =>
      `Since you read them, ${d.names.map((name) => `"${name}"`).join(', ')} changed once more, or went. Nothing of that was accepted: read again (GET /tools/${d.tool_id}/definition-changes).`,
  },
  OUTPUT_GIVEN: {
    status: 409,
    says: 'Another output was submitted for the same tool call before.',
    message: (d: { tool_call_id: string }) =>
      `An output for "${d.tool_call_id}" was submitted before, and it was another one: the first stays.`,
  },
  OUTPUTS_EXPIRED: {
    status: 409,
    says: 'The caller’s own tools gave no output in time, so the run has ended.',
    message: (d: { tool_call_id: string; tool_name: string }) =>
      `The run waited for an output of its caller’s own tool "${d.tool_name}" (${d.tool_call_id}), and none came in time. It has ended: start another one.`,
  },
  APPROVAL_STALE: {
    status: 409,
    recorded: 'rejected',
    endsApproval: true,
    says: 'The tool was changed after the approval was asked for, so the approval is not for what it does now.',
    message: (d: { action: string; approval_id: string }) =>
      `"${d.action}" was changed after its approval was asked for, so the approval does not fit any more. The call was not made: call again to ask anew.`,
  },
  APPROVAL_USED: {
    status: 409,
    recorded: 'rejected',
    endsApproval: true,
    says: 'An approval serves one call, and another call with the same input has it.',
    message: (d: { action: string }) =>
      `The approval for "${d.action}" with this input went to another call of yours that was made at the same time. Call again if you mean one more.`,
  },
  APPROVAL_DECIDED: {
    status: 409,
    says: 'The approval was decided before, or its time was up.',
    message: (d: { approval_id: string; status: string; decided_by: string | null }) =>
      `${d.approval_id} is not open any more: it is ${d.status}${d.decided_by ? `, by ${d.decided_by}` : ''}.`,
  },
  APPROVAL_CHANGED: {
    status: 409,
    says: 'Someone has changed the arguments of the call since they were looked at.',
    message: (d: { approval_id: string; args_hash: string }) =>
      `Someone has changed the arguments of ${d.approval_id} since you looked at them: look again before you decide.`,
  },
  SECOND_PERSON_REQUIRED: {
    status: 409,
    says: 'Two different people must approve, and this one has. A key and the keys that it created count as one person.',
    message: (d: { approval_id: string; approved_by?: string }) =>
      d.approved_by === undefined
        ? `You have approved ${d.approval_id} already. It needs two people: someone else must approve it, too.`
        : `"${d.approved_by}" has approved ${d.approval_id}, and one of your two keys created the other, so both count as one person. It needs two people: someone else must approve it, too.`,
  },
  OUTCOME_UNKNOWN: {
    status: 409,
    says: 'The call was begun and cut off, by a crash or because the database was lost, so that it may have had its effect.',
    message: (d: { action: string }) =>
      `A call of "${d.action}" was cut off after it had begun: whether it took effect is not known. Look before you call again.`,
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    says: 'The first request with this Idempotency-Key has not been answered.',
    message: (d: { key: string }) =>
      `The first request with Idempotency-Key "${d.key}" has no recorded answer: it is still running or was interrupted. Retry in a moment; if this stays, look whether it took effect before you use a new key.`,
  },
  WEBHOOK_DISABLED: {
    status: 409,
    says: 'The webhook is disabled, so nothing is sent to it.',
    message: (d: { webhook: string }) =>
      `The webhook "${d.webhook}" is disabled: enable it before you send to it again.`,
  },
  TOO_MANY_WEBHOOKS: {
    status: 409,
    says: 'The project has as many webhooks as a project can have.',
    message: (d: { limit: number }) => `The project has ${d.limit} webhooks, which is the most: delete one first.`,
  },
  BODY_TOO_LARGE: {
    status: 413,
    says: 'The request body is larger than this platform takes.',
    message: (d: { limit: number }) =>
      `The body is larger than the limit of ${d.limit} bytes. QM_BODY_LIMIT sets the limit for JSON, QM_FILE_LIMIT the one for files.`,
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    says: 'The body is not of the content type that the route takes.',
    message: (d: { content_type: string; expected: string }) =>
      `This route takes ${d.expected}, not "${d.content_type}".`,
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    says: 'The Range header asks for bytes that the file does not have.',
    message: (d: { size: number }) => `The file has ${d.size} bytes; the asked range lies outside.`,
    headers: (d: { size: number }) => ({ 'content-range': `bytes */${d.size}` }),
  },
  TOOL_CALL_NOT_SUPPORTED: {
    status: 422,
    says: 'The tool runs in the caller, so the platform cannot call it by itself.',
    message: (d: { tool: string; type: string }) =>
      `"${d.tool}" is a ${d.type} tool: it runs in the application that uses it, so it cannot be called directly.`,
  },
  CALL_TOO_DEEP: {
    status: 422,
    says: 'Tools call one another in a circle, or too deeply.',
    message: (d: { depth: number }) =>
      `Calls are nested ${d.depth} deep, which is the limit: do the tools call one another?`,
  },
  SECRET_NOT_FOUND: {
    status: 422,
    says: 'The tool names a secret that the project does not have.',
    message: (d: { secret: string }) => `The tool uses the secret "${d.secret}", which the project does not have.`,
  },
  MODEL_CONTEXT_TOO_LONG: {
    status: 422,
    says: 'The conversation is longer than the model can read.',
    message: (d: { provider: string; model: string; excerpt?: string }) =>
      `The conversation is too long for "${d.model}": begin a new one, keep fewer messages (max_context_messages), or use a model that reads more.`,
  },
  MODEL_REFUSED: {
    status: 422,
    says: 'The model, or a filter of its provider, would not answer this conversation.',
    message: (d: { provider: string; model: string; excerpt?: string }) =>
      `"${d.model}" would not answer: it or its provider's content filter objects to the conversation. Say it differently, or use another model.`,
  },
  MODEL_NOT_FOUND: {
    status: 422,
    says: 'The provider has no such model, or there is no API of this type at its address.',
    message: (d: { provider: string; model: string; excerpt?: string }) =>
      `"${d.provider}" has no model "${d.model}": check the model's name, and the provider's base_url.`,
  },
  MODEL_REQUEST_REFUSED: {
    status: 502,
    says: 'The provider refused the request for a reason that has no code of its own.',
    message: (d: { provider: string; model: string; status: number; excerpt?: string }) =>
      `"${d.provider}" refused the request (${d.status})${d.excerpt ? `: ${d.excerpt}` : ''}. Check the provider's type, its base_url, and what the model can do.`,
  },
  REPLAY_STEP_MISSING: {
    status: 422,
    says: 'No step of the replay script fits the conversation.',
    message: (d: { provider: string; asked: string; expected: readonly string[] }) =>
      `No step of the script "${d.provider}" fits. Asked was: ${d.asked}. The script knows: ${d.expected.join('; ') || 'nothing'}.`,
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    says: 'The Idempotency-Key was used before, with another request.',
    message: (d: { key: string }) =>
      `Idempotency-Key "${d.key}" was used before with a different request: use a new key for a new request.`,
  },
  RATE_LIMITED: {
    status: 429,
    says: 'The key has made more requests than its limit allows.',
    message: (d: { limit: number; retry_after_seconds: number }) =>
      `This key may make ${d.limit} requests a minute: try again in ${d.retry_after_seconds} s.`,
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
    says: 'The key has as many calls waiting for approval as it may have; this one was not made.',
    message: (d: { action: string; limit: number }) =>
      `"${d.action}" needs approval, and this key has ${d.limit} calls waiting for approval already, which is all it may have. The call was not made: wait until some are decided or withdraw some, then call again.`,
  },
  MODEL_RATE_LIMITED: {
    status: 429,
    says: 'The provider takes no more requests for now, or the account has nothing left to spend.',
    message: (d: { provider: string; attempts: number; quota: boolean; retry_after_seconds?: number }) =>
      d.quota
        ? `The account at "${d.provider}" has used up what it may spend: look at its plan and billing.`
        : `"${d.provider}" takes no more requests for now (tried ${d.attempts} times): try again ${d.retry_after_seconds ? `in ${d.retry_after_seconds} s` : 'later'}, or ask for a higher limit there.`,
  },
  TOO_MANY_SIGN_INS: {
    status: 429,
    says: 'Signing in at the dashboard failed too often from one address.',
    message: (d: { retry_after_seconds: number }) =>
      `Too many keys were tried from your address: try again in ${d.retry_after_seconds} s.`,
    headers: (d: { retry_after_seconds: number }) => ({ 'retry-after': String(d.retry_after_seconds) }),
  },
  CALL_CANCELLED: {
    status: 499,
    says: 'The caller cancelled the call while it ran.',
    message: (_: Record<never, never>) => 'The caller cancelled the call. What it did until then is not known.',
  },
  INTERNAL: {
    status: 500,
    says: 'A fault of the platform itself; its log has the whole of it.',
    message: (d: { request_id?: string }) =>
      `Something went wrong inside the platform.${d.request_id ? ` The log has it under ${d.request_id}.` : ''}`,
  },
  SECRET_UNREADABLE: {
    status: 500,
    says: 'A secret in the database was changed or moved, so it does not open.',
    message: (d: { place: string }) =>
      `The secret kept at ${d.place} was changed or moved in the database and cannot be opened: set it again.`,
  },
  SECRET_KEY_WRONG: {
    status: 500,
    says: 'The secrets in the database are sealed with another key than this process has.',
    message: (d: { wanted: string; found: string | null; source: string; previous?: string }) =>
      `The secrets in this database are sealed with the key ${d.wanted}, and this process has ${
        d.found === null ? 'none' : `${d.found} (${d.source})`
      }${
        d.previous === undefined ? '' : ` and ${d.previous} (QM_SECRET_KEY_PREVIOUS)`
      }. Give every process of the platform the same QM_SECRET_KEY, or the secret.key of the data folder that sealed them; to change the key, give the one before as QM_SECRET_KEY_PREVIOUS.`,
  },
  MODEL_KEY_REFUSED: {
    status: 502,
    says: 'The provider does not take the key that it is asked with.',
    message: (d: { provider: string; status: number; has_key: boolean }) =>
      d.has_key
        ? `"${d.provider}" does not take its API key (${d.status}): set another with PATCH /ai-providers/{id}, or give the key the rights it lacks.`
        : `"${d.provider}" wants an API key (${d.status}) and has none: set one with PATCH /ai-providers/{id}.`,
  },
  MODEL_UNAVAILABLE: {
    status: 502,
    says: 'The provider could not be reached, failed, or broke off.',
    message: (d: { provider: string; reason: string; attempts: number }) =>
      `"${d.provider}" does not answer: ${d.reason} (tried ${d.attempts} times). Try again later, or check its base_url.`,
  },
  MODEL_ANSWER_INVALID: {
    status: 502,
    says: 'What the provider answered is not what its API promises.',
    message: (d: { provider: string; reason: string; excerpt?: string }) =>
      `What "${d.provider}" answered cannot be used: ${d.reason}. Check that its type and base_url belong together.`,
  },
  TOOL_HTTP_ERROR: {
    status: 502,
    says: 'The address that an http tool calls answered with an error status.',
    message: (d: { tool_status_code: number; tool_url: string; tool_method: string; tool_response_body?: unknown }) =>
      `The tool's address answered ${d.tool_status_code} to ${d.tool_method}.`,
  },
  TOOL_UNREACHABLE: {
    status: 502,
    says: 'The address that a tool calls could not be reached, or broke off.',
    message: (d: { host: string; reason: string }) => `"${d.host}" could not be reached: ${d.reason}.`,
  },
  TOOL_PROTOCOL_ERROR: {
    status: 502,
    says: 'The MCP server that a tool stands for refused the request or answered something that is not MCP.',
    message: (d: { host: string; reason: string }) => `The MCP server at "${d.host}" did not play along: ${d.reason}.`,
  },
  TOOL_SCHEMA_INVALID: {
    status: 502,
    says: 'The MCP server describes the input of its tool with a schema that is none.',
    message: (d: { action: string; reason: string }) =>
      `The schema that "${d.action}" is described with is not valid: ${d.reason}.`,
  },
  RESPONSE_TOO_LARGE: {
    status: 502,
    says: 'The tool answered more than the platform takes.',
    message: (d: { limit: number }) => `The tool answered more than the limit of ${d.limit} bytes.`,
  },
  RESPONSE_TOO_COMPLEX: {
    status: 502,
    says: 'The JSON that the tool answered has more values than the platform takes.',
    message: (d: { reason: string }) => `The JSON that the tool answered ${d.reason}: ask it for less at once.`,
  },
  TOO_MANY_REDIRECTS: {
    status: 502,
    says: 'The address that a tool calls kept redirecting.',
    message: (d: { limit: number }) => `The tool's address redirected more than ${d.limit} times.`,
  },
  TOO_MANY_LISTENERS: {
    status: 503,
    says: 'As many MCP clients listen for changes as this process allows.',
    message: (d: { most: number }) => `${d.most} clients listen for changes already: try again later.`,
  },
  DATABASE_UNAVAILABLE: {
    status: 503,
    says: 'The database cannot be reached or written to; `retry_safe` tells whether nothing was done, so that you can send the request again.',
    message: (d: { reason: string; retry_safe: boolean }) =>
      d.retry_safe
        ? `The database is unavailable: ${d.reason}. Nothing was done: try again in a moment.`
        : `The database is unavailable: ${d.reason}. Whether the change was saved is not known: check before you send it again.`,
    headers: () => ({ 'retry-after': '1' }),
  },
  SHUTTING_DOWN: {
    status: 503,
    says: 'The platform is stopping and takes no new work.',
    message: (_: Record<never, never>) => 'The platform is shutting down: try again in a moment.',
    headers: () => ({ 'retry-after': '5', connection: 'close' }),
  },
  MODEL_TIMEOUT: {
    status: 504,
    says: 'The provider sent nothing for as long as it may take.',
    message: (d: { provider: string; seconds: number }) =>
      `"${d.provider}" sent nothing for ${d.seconds} s: try again, or raise the provider's timeout_seconds.`,
  },
  TOOL_TIMEOUT: {
    status: 504,
    says: 'The tool took longer than its time limit.',
    message: (d: { seconds: number }) =>
      `The tool did not answer within ${d.seconds} s. What it did until then is not known.`,
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof catalogue
export type ErrorDetails<C extends ErrorCode> = Parameters<(typeof catalogue)[C]['message']>[0]

/** What a caller can see of something that went wrong. `cause` is for the log only. */
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
