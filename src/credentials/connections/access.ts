import { Cached } from '../../db/cached.ts'
import type { ChangeEvents } from '../../db/change-events.ts'
import type { AuthConfigRow, ConnectionRow } from '../../db/tables.ts'
import {
  type ConnectionSettings,
  type ConnectionStatus,
  type ConnectionType,
  isUsable,
  needsNoBrowser,
} from '../../model/connection.ts'
import type { AuthConfigs } from '../../store/auth-configs.ts'
import { type Connections, ownerKey } from '../../store/connections.ts'
import { parseChallenge } from '../oauth/challenge.ts'
import type { Redactor } from '../redactor.ts'
import type { Vault } from '../vault.ts'
import { type Authorization, ConnectionNeeded, type Refusal } from './authorization.ts'
import type { ConnectionEvents } from './events.ts'
import { type LiveConnection, openConnection, type Presented } from './live.ts'
import { canRefresh, type TokenRefresh } from './refresh.ts'

/** Where the requests of a tool go. */
export interface Destination {
  readonly url: string
  /** Further URLs, if the tool uses several servers. */
  readonly others?: readonly string[]
  /** Whether the server tells how to authorize: MCP servers do. */
  readonly discovers: boolean
}

/** The tool whose requests need credentials. */
export interface ConnectedTool {
  readonly id: string
  readonly project_id: string
  /** The app that the tool belongs to. */
  readonly app: string
  readonly destination: Destination | undefined
  /** How its API is authenticated, as far as its definition says so. */
  readonly suggested?: { readonly type: ConnectionType; readonly settings: ConnectionSettings }
}

export interface AccessDeps {
  readonly connections: Connections
  readonly authConfigs: AuthConfigs
  readonly changes: ChangeEvents
  readonly vault: Pick<Vault, 'open'>
  readonly refresh: TokenRefresh
  readonly events: ConnectionEvents
}

/** What a project has, so that tools without connections cost one lookup. */
interface ProjectConnections {
  /** Targets with connections or auth configs. */
  readonly targets: ReadonlySet<string>
  readonly configs: ReadonlyMap<string, AuthConfigRow>
  /** Ids of connections by target and owner; null if there is none. */
  readonly ids: Map<string, string | null>
}

const maxKnownIds = 10_000
const usedEvery = 60_000
const maxRedactors = 3

export const targetsOf = ({ id, app }: Pick<ConnectedTool, 'id' | 'app'>): readonly [string, string] => [
  `tool/${id}`,
  `app/${app}`,
]

/** Decides which connection a call uses: that of its end user, otherwise the project's. Only the principal decides. */
export class ConnectionAccess {
  readonly #deps: AccessDeps
  readonly #projects: Cached<ProjectConnections>
  readonly #live: Cached<LiveConnection>
  /** One per connection, because connections to MCP servers are shared by calls and outlive them. */
  readonly #authorizations = new Map<string, ConnectionAuthorization>()

  constructor(deps: AccessDeps) {
    this.#deps = deps
    this.#projects = new Cached(deps.changes, { removeOn: ['connections'] })
    this.#live = new Cached(deps.changes, { removeOn: ['connections'] })
  }

  /**
   * The credentials for a call; undefined if the tool needs none. Throws `ConnectionNeeded` if the user must connect
   * first. Returns a promise only if something has to be read.
   */
  authorize(
    tool: ConnectedTool,
    endUserId: string | null,
  ): Authorization | undefined | Promise<Authorization | undefined> {
    if (!tool.destination) return undefined
    const project = this.#projects.peek(tool.project_id)
    return project ? this.#among(project, tool, endUserId) : this.#load(tool, endUserId)
  }

  async #load(tool: ConnectedTool, endUserId: string | null): Promise<Authorization | undefined> {
    return this.#among(await this.#project(tool.project_id), tool, endUserId)
  }

  #among(project: ProjectConnections, tool: ConnectedTool, endUserId: string | null) {
    const isKnown = targetsOf(tool).some((target) => project.targets.has(target))
    if (isKnown) return this.#choose(project, tool, endUserId)
    return tool.destination?.discovers ? unconnected : undefined
  }

  async #choose(
    project: ProjectConnections,
    tool: ConnectedTool,
    endUserId: string | null,
  ): Promise<Authorization | undefined> {
    const owners = [...(endUserId === null ? [] : [ownerKey({ kind: 'user', id: endUserId })]), 'project']
    for (const owner of owners) {
      for (const target of targetsOf(tool)) {
        const live = await this.#find(project, tool.project_id, target, owner)
        if (live) return this.#use(live, tool)
      }
    }
    if (tool.destination?.discovers && !targetsOf(tool).some((target) => project.configs.has(target))) {
      return unconnected
    }
    throw new ConnectionNeeded('missing')
  }

  /** For requests that no caller made, such as listing the tools of a server: the project's connection, or any. */
  async authorizeListing(tool: ConnectedTool): Promise<Authorization | undefined> {
    if (!tool.destination) return undefined
    const row = await this.#deps.connections.findAny(tool.project_id, targetsOf(tool))
    if (!row) return tool.destination.discovers ? unconnected : undefined
    return this.#use(await this.#liveOf(row.id, row), tool)
  }

  /** What a new connection for the tool would be for: all tools of its app, if connections are configured for these. */
  async targetFor(tool: ConnectedTool): Promise<string> {
    const { configs, targets } = await this.#project(tool.project_id)
    const [own, app] = targetsOf(tool)
    return [own, app].find((target) => configs.has(target)) ?? (targets.has(app) && !targets.has(own) ? app : own)
  }

  /** The auth config for a tool or an app. */
  async findConfig(projectId: string, targets: readonly string[]): Promise<AuthConfigRow | undefined> {
    const { configs } = await this.#project(projectId)
    for (const target of targets) {
      const config = configs.get(target)
      if (config) return config
    }
    return undefined
  }

  #use(live: LiveConnection, tool: ConnectedTool): Authorization {
    const { row } = live
    requireUsable(row)
    // The tool was changed, or belongs to another service than those the owner agreed to.
    const origins: string[] = JSON.parse(row.origins)
    if (originsOf(tool).some((origin) => !origins.includes(origin)))
      throw new ConnectionNeeded('missing', { subject: row })
    const now = Date.now()
    if (now - (row.last_used_at ?? 0) > usedEvery) {
      row.last_used_at = now
      this.#deps.connections.touch(row.id, now).catch(() => {})
    }
    let authorization = this.#authorizations.get(row.id)
    if (!authorization) {
      if (this.#authorizations.size >= maxKnownIds) this.#authorizations.clear()
      authorization = new ConnectionAuthorization(live, this.#deps, () => this.#liveOf(row.id))
      this.#authorizations.set(row.id, authorization)
    }
    authorization.present(live)
    return authorization
  }

  #project(projectId: string): Promise<ProjectConnections> {
    return this.#projects.find(projectId, async () => {
      const { connections, authConfigs } = this.#deps
      const [targets, configs] = await Promise.all([connections.targets(projectId), authConfigs.ofProject(projectId)])
      const byTarget = new Map(configs.map((config) => [config.target, config]))
      return { targets: new Set([...targets, ...byTarget.keys()]), configs: byTarget, ids: new Map() }
    })
  }

  async #find(
    { ids }: ProjectConnections,
    projectId: string,
    target: string,
    owner: string,
  ): Promise<LiveConnection | undefined> {
    const key = `${target} ${owner}`
    const id = ids.get(key)
    if (id === null) return undefined
    if (id !== undefined) return this.#liveOf(id)
    const row = await this.#deps.connections.findFor(projectId, target, owner)
    if (ids.size >= maxKnownIds) ids.clear()
    ids.set(key, row?.id ?? null)
    return row && this.#liveOf(row.id)
  }

  async #liveOf(id: string, known?: ConnectionRow): Promise<LiveConnection> {
    const { connections, vault } = this.#deps
    const live =
      this.#live.peek(id) ??
      (await this.#live.find(id, async () => {
        const row = await connections.findRow(id)
        return row && openConnection(row, vault)
      }))
    if (live) return live
    if (known) return openConnection(known, vault)
    throw new ConnectionNeeded('missing')
  }
}

function requireUsable(row: ConnectionRow): void {
  if (isUsable(row.status as ConnectionStatus)) return
  const isNew = row.secrets === null && row.grant_details === null
  throw new ConnectionNeeded(row.status === 'revoked' ? 'revoked' : isNew ? 'missing' : 'expired', { subject: row })
}

/** The origins that the credentials of a tool are sent to. */
export const originsOf = ({ destination }: Pick<ConnectedTool, 'destination'>): string[] =>
  [...new Set([destination?.url ?? '', ...(destination?.others ?? [])])].map((url) => URL.parse(url)?.origin ?? '')

/** An MCP server without a connection: it may be open, or ask for authorization. */
const unconnected: Authorization = {
  key: 'none',
  current: () => nothing,
  redactors: [],
  async rejected(_, { status, challenge }) {
    if (status === 401 && isBearer(challenge)) throw new ConnectionNeeded('missing', { challenge })
    return undefined
  },
}

const nothing: Presented = { headers: {}, query: {}, generation: 0 }

const isBearer = (challenge: string | undefined): challenge is string => /(^|[\s,])bearer\b/i.test(challenge ?? '')

type AuthorizationDeps = Pick<AccessDeps, 'connections' | 'refresh' | 'events'>

class ConnectionAuthorization implements Authorization {
  readonly key: string
  readonly redactors: Redactor[] = []
  readonly #deps: AuthorizationDeps
  readonly #reload: () => Promise<LiveConnection>
  #live: LiveConnection

  constructor(live: LiveConnection, deps: AuthorizationDeps, reload: () => Promise<LiveConnection>) {
    this.key = live.row.id
    this.#live = live
    this.#deps = deps
    this.#reload = reload
    this.redactors.push(live.redactor)
  }

  async current(): Promise<Presented> {
    const known = await this.#reload()
    requireUsable(known.row)
    return this.present(await this.#deps.refresh.fresh(known))
  }

  /** Responses may still contain the credentials before these, so their redactors are kept for a while. */
  present(live: LiveConnection): Presented {
    this.#live = live
    if (!this.redactors.includes(live.redactor)) this.redactors.push(live.redactor)
    if (this.redactors.length > maxRedactors) this.redactors.shift()
    return live.presented
  }

  async rejected(sent: Presented, { status, challenge, isSecond }: Refusal): Promise<Presented | undefined> {
    if (status === 403) return this.#needsScope(challenge)
    const now = await this.#reload()
    if (now.row.generation !== sent.generation && !isSecond) return this.present(now)
    if (canRefresh(now) && !isSecond) return this.present(await this.#deps.refresh.refresh(now))
    await this.#end(now)
    throw new ConnectionNeeded('expired', { challenge, subject: now.row })
  }

  /** The server did not accept credentials that should work. Until someone connects again, nothing else is sent. */
  async #end({ row }: LiveConnection): Promise<void> {
    const { connections, events } = this.#deps
    if (!isUsable(row.status as ConnectionStatus)) return
    const error = 'The service rejected the credentials (401).'
    const ended = await connections.transition(row, { status: 'reauth_required', error })
    if (ended) await events.publish('connection.reauth_required', ended)
  }

  /**
   * Requests more scopes, unless they were requested before: asking again would not help. If the tokens come from a
   * person, that person has to grant them.
   */
  async #needsScope(challenge: string | undefined): Promise<Presented | undefined> {
    const { row } = this.#live
    const { type, scopes_requested } = row
    if (!isBearer(challenge) || !type.startsWith('oauth2')) return undefined
    const { error, scopes = [] } = parseChallenge(challenge)
    const requested: string[] = JSON.parse(scopes_requested)
    const isNew = scopes.some((scope) => !requested.includes(scope))
    if (error === 'insufficient_scope' && isNew) {
      if (needsNoBrowser(type)) {
        const wider = await this.#deps.refresh.widen(this.#live, scopes)
        return wider && this.present(wider)
      }
      throw new ConnectionNeeded('insufficient_scope', { challenge, subject: row })
    }
    return undefined
  }
}
