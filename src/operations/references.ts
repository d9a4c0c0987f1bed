import { evaluate } from '../access/evaluate.ts'
import { appOf } from '../catalogue/app.ts'
import { nearest } from '../lib/nearest.ts'
import { PlatformError } from '../model/errors.ts'
import { isGeneratedId } from '../model/ids.ts'
import type { Principal } from '../model/principal.ts'
import { readToolReference, type ToolReference } from '../model/tool-reference.ts'
import type { NamedRecord, NamedTable } from '../store/names.ts'
import type { Store } from '../store/store.ts'

interface ReferencedKind {
  readonly table: NamedTable
  /** The kind in resource names of access policies. */
  readonly kind: string
  /** The permission to read a record. Callers without it cannot use its name. */
  readonly reads: string
}

/** By route parameter. */
const named: Readonly<Record<string, ReferencedKind>> = {
  tool_id: { table: 'tools', kind: 'tool', reads: 'tools:GetTool' },
  agent_id: { table: 'agents', kind: 'agent', reads: 'agents:GetAgent' },
  server_id: { table: 'servers', kind: 'server', reads: 'servers:GetServer' },
  skill_id: { table: 'skills', kind: 'skill', reads: 'skills:GetSkill' },
  ai_provider_id: { table: 'ai_providers', kind: 'ai-provider', reads: 'ai-providers:GetAiProvider' },
  access_policy_id: { table: 'access_policies', kind: 'access-policy', reads: 'access-policies:GetAccessPolicy' },
  approval_rule_id: { table: 'approval_rules', kind: 'approval-rule', reads: 'approval-rules:GetApprovalRule' },
  api_key_id: { table: 'api_keys', kind: 'api-key', reads: 'api-keys:GetApiKey' },
  user_id: { table: 'users', kind: 'user', reads: 'users:GetUser' },
  secret_id: { table: 'secrets', kind: 'secret', reads: 'secrets:GetSecret' },
  webhook_id: { table: 'webhooks', kind: 'webhook', reads: 'webhooks:GetWebhook' },
  project_id: { table: 'projects', kind: 'project', reads: 'projects:GetProject' },
}

interface ReferenceContext {
  readonly store: Store
  readonly principal: Principal
}

/** Resolves names to ids, for one operation. */
export class References {
  readonly #named: ReferencedKind
  readonly #permission: string

  /** Undefined unless the operation acts on one record that can be named. */
  static of(route: string, permission: string): References | undefined {
    const [, parameter = ''] = /\{(\w+)\}/.exec(route) ?? []
    const about = named[parameter]
    return about && new References(about, permission)
  }

  private constructor(about: ReferencedKind, permission: string) {
    this.#named = about
    this.#permission = permission
  }

  /**
   * Returns the id of the record. An id is returned as is, even if another record has it as its name. So is a name that
   * the caller cannot see: the operation then reports that it does not exist.
   */
  async idOf(reference: string, { store, principal }: ReferenceContext): Promise<string> {
    const { table, kind } = this.#named
    if (isGeneratedId(reference) || (await store.names.isId(table, reference))) return reference
    const { app, name } = this.#inApp(reference)
    const records = await store.names.find(table, [reference, name], principal.projectId)
    const found = records.filter(
      (one) => this.#mayKnow(principal, one) && (one.name === reference || this.#appOf(one) === app),
    )
    if (found.length > 1) {
      const candidates = found.map((one) => ({ id: one.id, project_id: one.project_id, ...this.#appField(one) }))
      throw new PlatformError('AMBIGUOUS_NAME', { kind, name: reference, candidates })
    }
    return found[0]?.id ?? reference
  }

  /** Adds similar names to a "not found" error. */
  async hinted(error: unknown, reference: string, { store, principal }: ReferenceContext): Promise<unknown> {
    const { table, kind } = this.#named
    const isAboutIt =
      error instanceof PlatformError &&
      error.code === 'RESOURCE_NOT_FOUND' &&
      (error as PlatformError<'RESOURCE_NOT_FOUND'>).details.id === reference
    if (!isAboutIt || isGeneratedId(reference)) return error
    const records = (await store.names.all(table, principal.projectId)).filter((one) => this.#mayKnow(principal, one))
    const near = nearest(reference, [...new Set(records.map(({ name }) => name))])
    if (near.length === 0) return error
    return new PlatformError('RESOURCE_NOT_FOUND', { kind, id: reference, did_you_mean: near }, { cause: error })
  }

  notFound(reference: string): PlatformError {
    return new PlatformError('RESOURCE_NOT_FOUND', { kind: this.#named.kind, id: reference })
  }

  #mayKnow(principal: Principal, { id, project_id }: NamedRecord): boolean {
    const resource = { projectId: project_id, kind: this.#named.kind, id }
    return [this.#named.reads, this.#permission].some((permission) => evaluate(principal, permission, resource).allowed)
  }

  /** `salesforce/create_contact`, or `salesforce:create_contact` as in the id of its action. */
  #inApp(reference: string): ToolReference {
    return this.#named.table === 'tools' ? readToolReference(reference.replace(':', '/')) : { name: reference }
  }

  #appOf({ name, many_actions, app }: NamedRecord): string | undefined {
    return many_actions === null ? undefined : appOf({ name, app, many_actions: many_actions === 1 })
  }

  #appField(record: NamedRecord): { app?: string } {
    const app = this.#appOf(record)
    return app === undefined ? {} : { app }
  }
}
