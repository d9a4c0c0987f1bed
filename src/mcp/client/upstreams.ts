import type { Logger } from 'pino'
import { type Authorization, authorizedClient } from '../../credentials/connections/authorization.ts'
import { Redactor } from '../../credentials/redactor.ts'
import { secretsAt } from '../../credentials/tool-secrets.ts'
import type { Outbound } from '../../http/outbound.ts'
import { PlatformError } from '../../model/errors.ts'
import type { McpAddress } from './address.ts'
import { Upstream, type UpstreamHealth, type Watcher } from './upstream.ts'

/** The maximum number of programs that run for tools at the same time. */
const maxPrograms = 32
/** A program that has been idle for this long is stopped, and started again on the next use. */
const programLifetime = 30 * 60_000
/** Beyond this number of connections to servers, idle ones are closed. Each end user has connections of its own. */
const maxConnections = 2000

/** A tool that uses an upstream. */
interface User {
  readonly project: string
  /** The id of the tool. */
  readonly tool: string
  readonly name: string
  readonly app: string
}

export interface UpstreamState extends Pick<User, 'tool' | 'app'>, Pick<UpstreamHealth, 'state'> {}

/** The upstreams in use, one per project and connection settings. Each is closed when no tool uses it any more. */
export class Upstreams {
  readonly #outbound: Outbound
  readonly #all = new Map<string, { readonly upstream: Upstream; readonly users: Map<string, User> }>()
  readonly #keys = new WeakMap<McpAddress, string>()
  readonly #listeners = new Set<() => void>()
  readonly #offerListeners = new Set<() => void>()
  readonly #sweeper = setInterval(() => this.sweep(Date.now()), 60_000).unref()

  readonly #log: Pick<Logger, 'info' | 'warn'> | undefined

  constructor(outbound: Outbound, log?: Pick<Logger, 'info' | 'warn'>) {
    this.#outbound = outbound
    this.#log = log
  }

  /** Returns the upstream for an address, and registers the tool as its user. */
  at(
    address: McpAddress,
    user: User,
    redactor = new Redactor(secretsAt(address)),
    authorization?: Authorization,
  ): Upstream {
    const account = authorization?.key
    const key = `${user.project} ${account === undefined ? '' : `${account} `}${this.#keyOf(address)}`
    let entry = this.#all.get(key)
    if (!entry) {
      if (address.command !== undefined) this.#makeRoom(address.command)
      if (this.#all.size >= maxConnections) this.#closeIdle()
      const users = new Map<string, User>()
      const { url, headers = {} } = address
      const client = this.#outbound.client({
        project: user.project,
        credentials: ['mcp', url, Object.entries(headers).sort(), account],
      })
      // Tokens change, so they are read for each request.
      const http = authorization ? authorizedClient(client, authorization) : client
      const known = authorization ? { text: redacting(redactor, authorization) } : redactor
      entry = { upstream: new Upstream(address, http, known, this.#watcher(users)), users }
      this.#all.set(key, entry)
    }
    entry.users.set(user.tool, user)
    return entry.upstream
  }

  #watcher(users: ReadonlyMap<string, User>): Watcher {
    const named = () => ({ tools: [...users.values()].map(({ name }) => name), tool_ids: [...users.keys()] })
    return {
      changed: () => {
        for (const listener of this.#listeners) listener()
      },
      offersChanged: () => {
        for (const listener of this.#offerListeners) listener()
      },
      wentDown: ({ message }, said) =>
        this.#log?.warn({ ...named(), ...(said && { said }) }, `an MCP server is down: ${message}`),
      cameBack: () => this.#log?.info(named(), 'an MCP server is up again'),
    }
  }

  /** Identical for identical connection settings. Cached per address object. */
  #keyOf(address: McpAddress): string {
    let key = this.#keys.get(address)
    if (key === undefined) {
      const { url, headers = {}, command, args, env = {}, cwd } = address
      key = JSON.stringify([url, Object.entries(headers).sort(), command, args, Object.entries(env).sort(), cwd])
      this.#keys.set(address, key)
    }
    return key
  }

  /** The state of the upstream of each tool in use. */
  states(): UpstreamState[] {
    return [...this.#all.values()].flatMap(({ upstream, users }) =>
      [...users.values()].map((user) => ({ ...user, state: upstream.health.state })),
    )
  }

  /** Unregisters tools that were changed or deleted. Those that still exist register again on their next use. */
  release(toolIds: readonly string[]): void {
    for (const { users } of this.#all.values()) for (const id of toolIds) users.delete(id)
    this.sweep(Date.now())
  }

  /** Closes upstreams that no tool uses, and programs that have been idle for long. Never closes one during a call. */
  sweep(now: number): void {
    for (const [key, { upstream, users }] of this.#all) {
      const { idleSince, isProgram } = upstream
      if (idleSince === undefined) continue
      const isIdle = isProgram && !upstream.isWatched && now - idleSince > programLifetime
      if (users.size === 0 || isIdle) this.#forget(key)
    }
  }

  #forget(key: string): void {
    void this.#all.get(key)?.upstream.close()
    this.#all.delete(key)
  }

  /** Closes the connection that has been idle the longest. If none is idle, the limit is exceeded for a while. */
  #closeIdle(): void {
    let oldest: { readonly key: string; readonly since: number } | undefined
    for (const [key, { upstream }] of this.#all) {
      const since = upstream.isWatched ? undefined : upstream.idleSince
      if (since !== undefined && (!oldest || since < oldest.since)) oldest = { key, since }
    }
    if (oldest) this.#forget(oldest.key)
  }

  /** If the limit of programs is reached, stops the one that has been idle the longest. */
  #makeRoom(command: string): void {
    const programs = [...this.#all].filter(([, { upstream }]) => upstream.isProgram)
    if (programs.length < maxPrograms) return
    const idle = programs.filter(([, { upstream }]) => upstream.idleSince !== undefined && !upstream.isWatched)
    const [oldest] = idle.sort(([, a], [, b]) => Number(a.upstream.idleSince) - Number(b.upstream.idleSince))
    if (!oldest) {
      const reason = `${maxPrograms} programs are already running, which is the limit`
      throw new PlatformError('TOOL_UNREACHABLE', { host: command, reason })
    }
    this.#forget(oldest[0])
  }

  /** Calls the listener when the tools of any upstream may have changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** Calls the listener when the prompts or resources of any upstream may have changed. */
  onOffersChange(listener: () => void): void {
    this.#offerListeners.add(listener)
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    await Promise.all([...this.#all.values()].map(({ upstream }) => upstream.close()))
  }
}

const redacting =
  (redactor: Redactor, { redactors }: Authorization) =>
  (text: string): string =>
    [redactor, ...redactors].reduce((clean, one) => one.text(clean), text)
