import type { Logger } from 'pino'
import type { Outbound } from '../../http/outbound.ts'
import { PlatformError } from '../../model/errors.ts'
import type { McpAddress } from '../../model/tool.ts'
import { Upstream, type UpstreamHealth, type Watcher } from './upstream.ts'

/** Programs that may run at once on behalf of tools. */
const mostPrograms = 32
/** A program that nobody has used for so long is ended, and started again when someone does. */
const programLifetime = 30 * 60_000

/** A tool that uses an upstream. */
interface User {
  readonly project: string
  /** Its id. */
  readonly tool: string
  readonly name: string
  readonly app: string
}

export interface UpstreamState extends Pick<User, 'tool' | 'app'>, Pick<UpstreamHealth, 'state'> {}

/** The upstreams in use, one for each project, address and set of headers, until no tool uses it any more. */
export class Upstreams {
  readonly #outbound: Outbound
  readonly #all = new Map<string, { readonly upstream: Upstream; readonly users: Map<string, User> }>()
  readonly #keys = new WeakMap<McpAddress, string>()
  readonly #listeners = new Set<() => void>()
  readonly #sweeper = setInterval(() => this.sweep(Date.now()), 60_000).unref()

  readonly #log: Pick<Logger, 'info' | 'warn'> | undefined

  constructor(outbound: Outbound, log?: Pick<Logger, 'info' | 'warn'>) {
    this.#outbound = outbound
    this.#log = log
  }

  /** For a tool of an app: whoever asks how its upstreams are, asks by these. */
  at(address: McpAddress, user: User): Upstream {
    const key = `${user.project} ${this.#keyOf(address)}`
    let known = this.#all.get(key)
    if (!known) {
      if (address.command !== undefined) this.#makeRoom(address.command)
      const users = new Map<string, User>()
      const { url, headers = {} } = address
      const http = this.#outbound.client({
        project: user.project,
        credentials: ['mcp', url, Object.entries(headers).sort()],
      })
      known = { upstream: new Upstream(address, http, this.#watcher(users)), users }
      this.#all.set(key, known)
    }
    known.users.set(user.tool, user)
    return known.upstream
  }

  #watcher(users: ReadonlyMap<string, User>): Watcher {
    const named = () => ({ tools: [...users.values()].map(({ name }) => name), tool_ids: [...users.keys()] })
    return {
      changed: () => {
        for (const listener of this.#listeners) listener()
      },
      wentDown: ({ message }, said) =>
        this.#log?.warn({ ...named(), ...(said && { said }) }, `an MCP server is down: ${message}`),
      cameBack: () => this.#log?.info(named(), 'an MCP server is up again'),
    }
  }

  /** The same for the same address and headers; worked out once for each record. */
  #keyOf(address: McpAddress): string {
    let key = this.#keys.get(address)
    if (key === undefined) {
      const { url, headers = {}, command, args, env = {}, cwd } = address
      key = JSON.stringify([url, Object.entries(headers).sort(), command, args, Object.entries(env).sort(), cwd])
      this.#keys.set(address, key)
    }
    return key
  }

  /** How the upstream of each tool in use is. */
  states(): UpstreamState[] {
    return [...this.#all.values()].flatMap(({ upstream, users }) =>
      [...users.values()].map((user) => ({ ...user, state: upstream.health.state })),
    )
  }

  /** These tools were changed or deleted. Those that still use their upstream say so when they next do. */
  release(toolIds: readonly string[]): void {
    for (const { users } of this.#all.values()) for (const id of toolIds) users.delete(id)
    this.sweep(Date.now())
  }

  /** Forgets those that no tool uses, and ends programs that have long been idle; never in the middle of a call. */
  sweep(now: number): void {
    for (const [key, { upstream, users }] of this.#all) {
      const { idleSince, isProgram } = upstream
      if (idleSince === undefined) continue
      if (users.size === 0 || (isProgram && now - idleSince > programLifetime)) this.#forget(key)
    }
  }

  #forget(key: string): void {
    void this.#all.get(key)?.upstream.close()
    this.#all.delete(key)
  }

  /** Where all places are taken, the program that has been idle the longest makes room. */
  #makeRoom(command: string): void {
    const programs = [...this.#all].filter(([, { upstream }]) => upstream.isProgram)
    if (programs.length < mostPrograms) return
    const idle = programs.filter(([, { upstream }]) => upstream.idleSince !== undefined)
    const [oldest] = idle.sort(([, a], [, b]) => Number(a.upstream.idleSince) - Number(b.upstream.idleSince))
    if (!oldest) {
      const reason = `there are ${mostPrograms} programs at work already, which is the most`
      throw new PlatformError('TOOL_UNREACHABLE', { host: command, reason })
    }
    this.#forget(oldest[0])
  }

  /** Told when the tools of any upstream may have changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    await Promise.all([...this.#all.values()].map(({ upstream }) => upstream.close()))
  }
}
