import { evaluate } from '../access/evaluate.ts'
import { nameOfApp } from '../catalogue/missing.ts'
import { nearest } from '../lib/nearest.ts'
import { PlatformError } from '../model/errors.ts'
import { isGeneratedId } from '../model/ids.ts'
import type { Principal } from '../model/principal.ts'
import type { NamedRecord, NamedTable } from '../store/names.ts'
import type { Store } from '../store/store.ts'

interface Named {
  readonly table: NamedTable
  /** What access policies call it. */
  readonly kind: string
  /** Whoever may read a record may know its name. */
  readonly reads: string
}

/** By the parameter of a route that stands for a record. */
const named: Readonly<Record<string, Named>> = {
  tool_id: { table: 'tools', kind: 'tool', reads: 'tools:GetTool' },
  agent_id: { table: 'agents', kind: 'agent', reads: 'agents:GetAgent' },
  server_id: { table: 'servers', kind: 'server', reads: 'servers:GetServer' },
  skill_id: { table: 'skills', kind: 'skill', reads: 'skills:GetSkill' },
  ai_provider_id: { table: 'ai_providers', kind: 'ai-provider', reads: 'ai-providers:GetAiProvider' },
  access_policy_id: { table: 'access_policies', kind: 'access-policy', reads: 'access-policies:GetAccessPolicy' },
  approval_rule_id: { table: 'approval_rules', kind: 'approval-rule', reads: 'approval-rules:GetApprovalRule' },
  api_key_id: { table: 'api_keys', kind: 'api-key', reads: 'api-keys:GetApiKey' },
  webhook_id: { table: 'webhooks', kind: 'webhook', reads: 'webhooks:GetWebhook' },
  project_id: { table: 'projects', kind: 'project', reads: 'projects:GetProject' },
}

interface Asking {
  readonly store: Store
  readonly principal: Principal
}

/** Finds the record that a caller means, for one operation. */
export class References {
  readonly #named: Named
  readonly #permission: string

  /** For operations on one record that can be named; undefined for all others. */
  static of(route: string, permission: string): References | undefined {
    const [, parameter = ''] = /\{(\w+)\}/.exec(route) ?? []
    const about = named[parameter]
    return about && new References(about, permission)
  }

  private constructor(about: Named, permission: string) {
    this.#named = about
    this.#permission = permission
  }

  /**
   * The id of the record: what is an id stays, also where something else has it for its name. A name that nothing has that
   * the caller may know of stays too, for the operation to say so.
   */
  async idOf(reference: string, { store, principal }: Asking): Promise<string> {
    const { table, kind } = this.#named
    if (isGeneratedId(reference) || (await store.names.isId(table, reference))) return reference
    const [app, name] = this.#parted(reference)
    const records = await store.names.find(
      table,
      [reference, ...(name === undefined ? [] : [name])],
      principal.projectId,
    )
    const found = records.filter(
      (one) => this.#mayKnow(principal, one) && (one.name === reference || this.#appOf(one) === app),
    )
    if (found.length > 1) {
      const candidates = found.map((one) => ({ id: one.id, project_id: one.project_id, ...this.#appField(one) }))
      throw new PlatformError('AMBIGUOUS_NAME', { kind, name: reference, candidates })
    }
    return found[0]?.id ?? reference
  }

  /** An error that says that the record is not there, with names like the one that was given. */
  async hinted(error: unknown, reference: string, { store, principal }: Asking): Promise<unknown> {
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

  /** `salesforce/create_contact` or `salesforce:create_contact`. */
  #parted(reference: string): [app?: string, name?: string] {
    const [, app, name] = (this.#named.table === 'tools' && /^([^/:]+)[/:]([^/:]+)$/.exec(reference)) || []
    return [app, name]
  }

  #appOf({ id, name, type, app }: NamedRecord): string | undefined {
    return type === null ? undefined : nameOfApp({ id, name, type, app })
  }

  #appField(record: NamedRecord): { app?: string } {
    const app = this.#appOf(record)
    return app === undefined ? {} : { app }
  }
}
