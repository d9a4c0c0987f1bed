/**
 * The tables of both engines. Times are integer milliseconds, JSON is text and booleans are 0 or 1, so that SQLite and
 * PostgreSQL share the same queries and rows.
 */
export interface ProjectRow {
  id: string
  name: string
  approval_timeout_seconds: number | null
  /** JSON: the origins that a hosted page may return to. */
  return_origins: string | null
  verifier_url: string | null
  created_at: number
  updated_at: number
}

export interface ApiKeyRow {
  id: string
  project_id: string | null
  name: string
  key_hash: string
  key_prefix: string
  access_policy_ids: string
  /** JSON: the ids of the keys it was created with, from the first one to its creator. They may have been deleted. */
  ancestors: string
  rate_limit: number | null
  end_user_id: string | null
  expires_at: number | null
  last_used_at: number | null
  created_at: number
  updated_at: number
  /** JSON: the slugs of its modes, the default first. Null for none. */
  modes: string | null
}

export interface AccessPolicyRow {
  id: string
  project_id: string | null
  name: string
  description: string | null
  document: string
  created_at: number
  updated_at: number
}

export interface ToolRow {
  id: string
  project_id: string
  name: string
  type: string
  type_alias: string | null
  description: string | null
  /** JSON. Secret values are masked, and stored in `secrets`. */
  config: string
  /** Those of the config and the presets, encrypted. Empty if there are none, null in rows from before this column. */
  secrets: string | null
  many_actions: number
  preset_parameters: string | null
  app: string | null
  pin_definitions: number
  level: string
  auto_approve: number | null
  timeout_seconds: number | null
  ask_destructive: number
  approval_timeout_seconds: number | null
  /** JSON: the level, approval and availability of single actions, by name. Null for none. */
  action_settings: string | null
  created_at: number
  updated_at: number
}

export interface DocumentRow {
  id: string
  project_id: string
  path: string
  content: string
  tags: string
  size: number
  created_at: number
  updated_at: number
}

export interface FileRow {
  id: string
  project_id: string
  path: string
  content_type: string
  content_id: string
  tags: string
  size: number
  sha256: string
  created_at: number
  updated_at: number
}

export interface FileChunkRow {
  content_id: string
  position: number
  bytes: Uint8Array
}

/** An imported API document. The bytes are compressed. */
export interface ApiSnapshotRow {
  project_id: string
  hash: string
  bytes: Uint8Array
  created_at: number
}

export interface CallRow {
  id: string
  project_id: string | null
  parent_call_id: string | null
  generation_id: string | null
  agent_id: string | null
  tool_id: string | null
  tool: string | null
  app: string | null
  action: string | null
  status: string
  principal_kind: string
  principal_id: string
  principal_name: string
  surface: string
  server_id: string | null
  client_name: string | null
  client_version: string | null
  request: string
  request_truncated: number
  /** A JSON array; null if no presets applied. */
  preset_keys: string | null
  response: string | null
  response_truncated: number
  error: string | null
  duration_ms: number | null
  /** The part of the duration spent waiting for approval; null if none was required. */
  waited_ms: number | null
  mode: string | null
  created_at: number
  completed_at: number | null
}

/** The columns that are set when a call ends. */
export type CallEnd = Pick<
  CallRow,
  'id' | 'status' | 'response' | 'response_truncated' | 'error' | 'duration_ms' | 'waited_ms' | 'completed_at'
>

export interface IdempotencyRow {
  principal_id: string
  key: string
  request_hash: string
  status: number | null
  body: string | null
  created_at: number
}

export interface ServerRow {
  id: string
  project_id: string
  slug: string
  name: string
  description: string | null
  enabled: number
  agent_mode: number
  code_mode: number
  retrieve_skill: number
  pass_prompts: number
  pass_resources: number
  tool_names: string
  apps: string | null
  skill_ids: string | null
  result_limit: number | null
  resolve_tokens: number | null
  auto_approve: number | null
  approval_timeout_seconds: number | null
  access: string | null
  created_at: number
  updated_at: number
}

export interface SkillRow {
  id: string
  project_id: string
  name: string
  summary: string
  category: string | null
  apps: string
  content: string
  enabled: number
  created_at: number
  updated_at: number
}

export interface DefinitionRow {
  tool_id: string
  name: string
  accepted_hash: string
  current_hash: string
  changed_at: number
  /** Both are JSON, or null if too long to store. `current` is only valid while it differs from the accepted one. */
  accepted: string | null
  current: string | null
}

export interface VectorRow {
  model: string
  text_hash: string
  bytes: Uint8Array
}

export interface ResultRow {
  id: string
  project_id: string
  principal_id: string
  server_id: string
  call_id: string
  bytes: number
  characters: number
  created_at: number
  text: string
}

export interface AgentRow {
  id: string
  project_id: string
  name: string
  ai_provider_id: string
  model: string | null
  instructions: string | null
  tool_ids: string
  active_tool_ids: string | null
  tool_choice: string
  stop_conditions: string
  step_rules: string
  max_steps: number
  temperature: number | null
  boundary_policy: string | null
  max_context_messages: number | null
  guide_id: string | null
  manifest: string | null
  mode: string | null
  created_at: number
  updated_at: number
}

export interface GenerationRow {
  id: string
  project_id: string
  agent_id: string
  trace_id: string
  parent_generation_id: string | null
  parent_call_id: string | null
  status: string
  stop_reason: string | null
  /** Incremented each time a process takes over the generation. Only the latest one may write. */
  turn: number
  depth: number
  principal_id: string
  principal_name: string
  surface: string
  client_name: string | null
  client_version: string | null
  model: string | null
  steps: number
  input_tokens: number
  output_tokens: number
  cost: number | null
  cancel_requested: number
  session_id: string | null
  /** Whether the text of the current step has begun to be sent, so that a new message does not cancel the run. */
  replied: number
  created_at: number
  last_activity_at: number
  completed_at: number | null
  finish_reason: string | null
  error: string | null
  settings: string
  content: string | null
  input: string
}

export interface GenerationStepRow {
  generation_id: string
  number: number
  model: string | null
  text: string | null
  reasoning: string | null
  metadata: string | null
  finish_reason: string | null
  input_tokens: number | null
  output_tokens: number | null
  cost: number | null
  started_at: number
  answered_at: number | null
  /** What the guide decided for the step. */
  guide: string | null
}

export interface GenerationCallRow {
  generation_id: string
  step: number
  position: number
  call_id: string
  tool_call_id: string
  tool_name: string
  tool_id: string | null
  action: string | null
  args: string
  awaits: string | null
  output: string | null
  is_error: number
  created_at: number
  completed_at: number | null
}

export interface WorkflowRunRow {
  id: string
  project_id: string
  kind: string
  tool_id: string | null
  name: string
  status: string
  dry_run: number
  call_id: string | null
  generation_id: string | null
  agent_id: string | null
  rerun_of: string | null
  /** Incremented each time a process takes over the run. Only the latest one may write. */
  turn: number
  depth: number
  principal_id: string
  principal_name: string
  cancel_requested: number
  created_at: number
  last_activity_at: number
  wake_at: number | null
  reopened_at: number | null
  completed_at: number | null
  error: string | null
  settings: string
  input: string
  output: string | null
}

/** An event for a run. `step` is the step that has used it. */
export interface WorkflowEventRow {
  id: string
  run_id: string
  name: string
  step: string | null
  created_at: number
  data: string
}
export interface WorkflowStepRow {
  run_id: string
  step: string
  status: string
  wait_until: number | null
  started_at: number
  completed_at: number | null
  error: string | null
  output: string | null
}

export interface WorkflowCallRow {
  run_id: string
  step: string
  item: number
  attempt: number
  call_id: string
  action: string
  tool_id: string | null
  awaits: string | null
  is_error: number
  created_at: number
  completed_at: number | null
  input: string
  output: string | null
}

export interface AiProviderRow {
  id: string
  project_id: string
  name: string
  type: string
  base_url: string | null
  default_model: string | null
  prices: string | null
  record: number
  timeout_seconds: number
  max_retries: number
  api_key: string | null
  api_key_hint: string | null
  headers: string | null
  header_names: string | null
  created_at: number
  updated_at: number
  script: string | null
}

export interface RecordedStepRow {
  id: string
  ai_provider_id: string
  step: string
}

export interface ApprovalRow {
  id: string
  project_id: string
  call_id: string
  repeat_hash: string
  tool_id: string
  tool: string
  action: string
  status: string
  args_hash: string
  preset_keys: string
  secret_paths: string | null
  definition_hash: string
  principal_id: string
  principal_name: string
  surface: string
  client_name: string | null
  client_version: string | null
  agent_id: string | null
  generation_id: string | null
  server_id: string | null
  why: string
  approvals_needed: number
  decisions: string
  decided_by: string | null
  decided_by_name: string | null
  decided_at: number | null
  reason: string | null
  expires_at: number
  used_at: number | null
  closed: number
  created_at: number
  edited_input: string | null
  input: string
}

export interface ApprovalRuleRow {
  id: string
  project_id: string
  name: string
  enabled: number
  expression: string
  timeout_seconds: number | null
  two_people: number
  reason: string | null
  created_at: number
  updated_at: number
}

export interface SecretRow {
  id: string
  project_id: string
  name: string
  description: string | null
  /** Encrypted. Null if `env` or `file` is set. */
  value: string | null
  /** The environment variable that has the value. */
  env: string | null
  /** The name of the file that has the value. */
  file: string | null
  rotated_at: number
  created_at: number
  updated_at: number
}

export interface UserRow {
  id: string
  project_id: string | null
  /** In lower case. */
  email: string
  name: string
  access_policy_ids: string
  status: string
  /** With its parameters: see `access/password.ts`. */
  password_hash: string | null
  /** The company account: issuer and subject identify it, an email address may change hands. */
  sso_issuer: string | null
  sso_subject: string | null
  invitation_hash: string | null
  invitation_expires_at: number | null
  /** The key or person that sent the invitation. */
  created_by: string | null
  /** JSON: the principals that may be this person, because they have seen an invitation link. See `access/key-line.ts`. */
  ancestors: string
  /** Sessions that began before are over. */
  signed_out_at: number
  /** JSON: the slugs of their modes, the default first. Null for none. */
  modes: string | null
  last_seen_at: number | null
  created_at: number
  updated_at: number
}

export interface SignInProviderRow {
  id: string
  name: string
  issuer: string
  client_id: string
  /** Encrypted. Null for public clients. */
  client_secret: string | null
  allowed_domains: string
  /** Null if only invited people may sign in. */
  default_role: string | null
  default_project_id: string | null
  enabled: number
  created_at: number
  updated_at: number
}

export interface ModeRow {
  id: string
  project_id: string
  slug: string
  name: string
  description: string | null
  /** JSON, like `servers`, `tools` and `groups`. */
  levels: string
  servers: string | null
  tools: string | null
  groups: string | null
  sign_in_within_seconds: number | null
  created_at: number
  updated_at: number
}

export interface SessionRow {
  id: string
  project_id: string
  agent_id: string
  /** `/agents/<agent id>`, so that access policies can name the sessions of an agent. */
  path: string
  end_user_id: string | null
  title: string | null
  principal_id: string
  principal_name: string
  /** JSON: the mode and sign-in of the request that sent the latest message. */
  caller: string | null
  mode: string | null
  next_offset: number
  /** The events before this offset were handed to webhooks, or nobody subscribed to them. */
  published: number
  /** The offset of the latest event that needs a turn; null if there is none. */
  wanted: number | null
  turn_id: string | null
  /** The turn sees the events before this offset. */
  turn_offset: number | null
  created_at: number
  updated_at: number
  /** The state of an autonomous routine. */
  run: string | null
  metadata: string
  state: string
}

export interface SessionEventRow {
  session_id: string
  /** The offset: a reserved word in SQL. */
  position: number
  id: string
  kind: string
  source: string
  trace_id: string | null
  generation_id: string | null
  /** Appended at most once per session. */
  event_key: string | null
  created_at: number
  data: string
}

export interface GuideRow {
  id: string
  project_id: string
  content: string
  created_at: number
}

export interface GuideAnswerRow {
  generation_id: string
  hash: string
  step: number
  kind: string
  model: string | null
  input_tokens: number
  output_tokens: number
  cost: number | null
  milliseconds: number
  answer: string
}

export interface WebSessionRow {
  token_hash: string
  /** An API key or a person. */
  principal_id: string
  created_at: number
  expires_at: number
}

export interface SettingRow {
  name: string
  value: string
}

/** SQLite only. */
export interface QueueRow {
  kind: string
  id: string
  at: number | null
  taken: number
  failures: number
}

export interface WebhookRow {
  id: string
  project_id: string
  name: string
  /** Secrets in it are masked. */
  url: string
  /** The whole URL, encrypted. Empty if it has no secrets, null in rows from before this column. */
  sealed_url: string | null
  events: string
  enabled: number
  disabled_reason: string | null
  secret: string
  previous_secret: string | null
  previous_until: number | null
  created_at: number
  updated_at: number
}

export interface WebhookDeliveryRow {
  id: string
  webhook_id: string
  project_id: string
  type: string
  key: string
  status: string
  attempts: number
  last_status_code: number | null
  last_error: string | null
  next_attempt_at: number | null
  last_attempt_at: number | null
  delivered_at: number | null
  created_at: number
  response_excerpt: string | null
  body: string
}

export interface OauthArtifactRow {
  /** The kind and the hash of the value. */
  id: string
  kind: string
  uid_hash: string | null
  grant_id: string | null
  payload: string
  consumed_at: number | null
  expires_at: number
}

export interface OauthGrantRow {
  id: string
  project_id: string | null
  server_id: string | null
  resource: string
  scope: string
  principal_id: string
  principal_name: string
  client_id: string
  client_name: string
  client_host: string | null
  redirect_host: string
  /** When the person who gave the grant had signed in. */
  signed_in_at: number | null
  last_used_at: number | null
  expires_at: number
  created_at: number
}

export interface ConnectionRow {
  id: string
  project_id: string
  /** `app/<slug>` or `tool/<id>`. */
  target: string
  type: string
  /** `project`, or `user/<id>`. */
  owner: string
  status: string
  account: string | null
  /** JSON: how to authenticate, without secrets. */
  settings: string
  /** Encrypted JSON: keys, passwords, tokens. */
  secrets: string | null
  /** JSON: the only origins that credentials are sent to. */
  origins: string
  issuer: string | null
  resource: string | null
  /** JSON: what is needed to refresh the tokens, without secrets. */
  grant_details: string | null
  scopes_requested: string
  scopes_granted: string
  expires_at: number | null
  /** Incremented whenever the secrets change. */
  generation: number
  lease_by: string | null
  lease_until: number | null
  /** Not refreshed before this time, after a temporary failure. */
  retry_at: number | null
  failures: number
  error: string | null
  last_used_at: number | null
  created_at: number
  updated_at: number
}

export interface AuthConfigRow {
  id: string
  project_id: string
  target: string
  type: string
  settings: string
  /** Encrypted. */
  client_secret: string | null
  /** Encrypted. */
  idp_client_secret: string | null
  created_at: number
  updated_at: number
}

export interface OAuthClientRow {
  id: string
  project_id: string
  issuer: string
  redirect_uri: string
  /** Encrypted JSON: the registration. */
  client: string
  created_at: number
}

export interface ConnectLinkRow {
  id: string
  token_hash: string
  project_id: string
  principal_id: string
  /** `backend`: an application vouches for its user. `platform`: the person who opens it must prove who they are. */
  minted_by: string
  target: string
  /** The tool whose call needs the connection. */
  tool_id: string | null
  owner: string
  reason: string
  /** The WWW-Authenticate header of an MCP server. */
  challenge: string | null
  return_url: string | null
  browser_hash: string | null
  verified: number
  state_hash: string | null
  state_until: number | null
  /** Encrypted JSON: the PKCE verifier and what else the callback needs. */
  pending: string | null
  status: string
  connection_id: string | null
  expires_at: number
  created_at: number
}

export interface OauthKeyRow {
  id: string
  value: string
  created_at: number
}

export interface TrustedIssuerRow {
  id: string
  project_id: string
  name: string
  issuer: string
  settings: string
  enabled: number
  created_at: number
  updated_at: number
}

export interface ExternalIdentityRow {
  id: string
  trusted_issuer_id: string
  name: string
  audience: string | null
  access_policy_ids: string
  expires_at: number
}

export interface Tables {
  projects: ProjectRow
  api_keys: ApiKeyRow
  users: UserRow
  sign_in_providers: SignInProviderRow
  access_policies: AccessPolicyRow
  tools: ToolRow
  documents: DocumentRow
  files: FileRow
  file_chunks: FileChunkRow
  api_snapshots: ApiSnapshotRow
  calls: CallRow
  idempotency_keys: IdempotencyRow
  definitions: DefinitionRow
  servers: ServerRow
  skills: SkillRow
  vectors: VectorRow
  results: ResultRow
  approvals: ApprovalRow
  approval_rules: ApprovalRuleRow
  agents: AgentRow
  generations: GenerationRow
  generation_steps: GenerationStepRow
  generation_calls: GenerationCallRow
  workflow_runs: WorkflowRunRow
  workflow_steps: WorkflowStepRow
  workflow_calls: WorkflowCallRow
  workflow_events: WorkflowEventRow
  ai_providers: AiProviderRow
  recorded_steps: RecordedStepRow
  settings: SettingRow
  queue: QueueRow
  webhooks: WebhookRow
  webhook_deliveries: WebhookDeliveryRow
  web_sessions: WebSessionRow
  secrets: SecretRow
  oauth_artifacts: OauthArtifactRow
  oauth_grants: OauthGrantRow
  oauth_keys: OauthKeyRow
  connections: ConnectionRow
  auth_configs: AuthConfigRow
  oauth_clients: OAuthClientRow
  connect_links: ConnectLinkRow
  modes: ModeRow
  sessions: SessionRow
  session_events: SessionEventRow
  guides: GuideRow
  guide_answers: GuideAnswerRow
  trusted_issuers: TrustedIssuerRow
  external_identities: ExternalIdentityRow
}
