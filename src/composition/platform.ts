import type { Logger } from 'pino'
import type { Models } from '../agents/models/model.ts'
import type { Config } from '../config.ts'
import type { ConnectionParts } from '../credentials/connections/connections.ts'
import type { Vault } from '../credentials/vault.ts'
import type { Exchange } from '../server/exchange.ts'
import type { Store } from '../store/store.ts'
import type { ToolType } from '../tools/tool-type.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'

export interface Platform {
  readonly config: Config
  readonly log: Logger
  readonly store: Store
  readonly webhooks: Webhooks
  readonly vault: Vault
  readonly connections: ConnectionParts
  readonly models: Models
  /** Handles one HTTP request. */
  handle(exchange: Exchange): Promise<void>
  /** Tells the platform the URL that it listens on, for links and as the issuer of tokens, unless QM_PUBLIC_URL is set. */
  onListening(url: string): void
  /** Handles a request without a port, for programs that embed the platform. */
  fetch(request: Request | URL | string, init?: RequestInit): Promise<Response>
  /** The first admin key, if this start generated it. */
  readonly adminKey: string | undefined
  readonly hasDashboard: boolean
  /** Call this once the key has been shown. Until then, each start generates a new one. */
  adminKeyShown(): Promise<void>
  /** Reads the manifest files again and applies them. Returns the names of their agents. */
  applyManifests(): Promise<string[]>
  /** Stops accepting new work. Work in progress continues. */
  drain(): void
  close(): Promise<void>
}

export interface PlatformOptions {
  /** Receives warnings about the search, for the operator. By default, they are logged. */
  readonly warn?: (text: string) => void
  /** The available tool types. By default, those of Quartermaster. Add your own with `[...toolTypes, mine]`. */
  readonly toolTypes?: readonly ToolType[]
  /** Replaces the language models, for tests of agents. */
  readonly models?: () => Models
}
