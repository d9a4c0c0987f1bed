import { needsNoBrowser } from '../../model/connection.ts'
import { PlatformError } from '../../model/errors.ts'
import type { Principal } from '../../model/principal.ts'
import { ownerKey } from '../../store/connections.ts'
import type { ConnectedTool, ConnectionAccess } from './access.ts'
import type { ConnectionNeeded } from './authorization.ts'
import type { ConnectFlows, ConnectLink } from './flows.ts'

export interface RequiredLinkDeps {
  readonly access: ConnectionAccess
  readonly flows: ConnectFlows
  findTool(id: string): Promise<ConnectedTool | undefined>
}

/** Whose call needs a connection. */
export interface LinkReader {
  readonly toolId: string
  readonly principal: Principal
  /** Whether an application makes the call for its user, and so vouches for them. */
  readonly isBackend: boolean
}

/** A caller that repeats a call gets the same link for a while, instead of one for each attempt. */
const reusedMs = 60_000
const maxKnown = 1000

/** Links for callers whose call needs a connection. */
export class RequiredLinks {
  readonly #deps: RequiredLinkDeps
  readonly #recent = new Map<string, { readonly link: ConnectLink; readonly until: number }>()

  constructor(deps: RequiredLinkDeps) {
    this.#deps = deps
  }

  async errorFor(needed: ConnectionNeeded, reader: LinkReader): Promise<PlatformError> {
    const tool = await this.#deps.findTool(reader.toolId)
    const link = tool && (await this.#linkFor(needed, tool, reader))
    return new PlatformError('CONNECTION_REQUIRED', {
      app: tool?.app ?? '',
      reason: needed.reason,
      connect_url: link?.connect_url ?? null,
      expires_at: link?.expires_at ?? null,
    })
  }

  async #linkFor(needed: ConnectionNeeded, tool: ConnectedTool, reader: LinkReader): Promise<ConnectLink | undefined> {
    const { access, flows } = this.#deps
    const { principal, isBackend } = reader
    const { endUserId } = principal
    // An end user can connect an account of their own, but not replace that of the project.
    const owner = endUserId === null ? 'project' : ownerKey({ kind: 'user', id: endUserId })
    const target = needed.subject?.target ?? (await access.targetFor(tool))
    const subject = { project_id: tool.project_id, target, owner }
    const key = JSON.stringify([subject, principal.id, isBackend, needed.reason, needed.challenge])
    const recent = this.#recent.get(key)
    if (recent && recent.until > Date.now() && (await flows.isOpen(recent.link))) return recent.link
    const plan = await flows.plan(subject).catch((error: unknown) => {
      if (error instanceof PlatformError) return undefined
      throw error
    })
    if (!plan || needsNoBrowser(plan.type)) return undefined
    const link = await flows.createLink({
      ...subject,
      principalId: principal.id,
      mintedBy: isBackend ? 'backend' : 'platform',
      toolId: tool.id,
      reason: needed.reason,
      challenge: needed.challenge ?? null,
      returnUrl: null,
    })
    if (this.#recent.size >= maxKnown) this.#recent.clear()
    this.#recent.set(key, { link, until: Date.now() + reusedMs })
    return link
  }
}
