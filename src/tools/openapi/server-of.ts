import type { Fault } from '../../model/errors.ts'
import { PlatformError } from '../../model/errors.ts'
import type { ToolDeps } from '../tool-type.ts'
import type { Api } from './api.ts'
import type { ApiOperation } from './operation.ts'
import { type Selection, selected } from './selection.ts'
import { NoServer, serverUrl } from './servers.ts'

interface Settings extends Selection {
  readonly url?: string | undefined
  readonly server_url?: string | undefined
  readonly server_variables?: Readonly<Record<string, string>> | undefined
}

/** The URL that the path of an operation is appended to. Throws `NoServer`. */
function urlFor({ server }: Pick<ApiOperation, 'server'>, { snapshot }: Api, settings: Settings): string {
  const { url: base, server_url, server_variables: values = {} } = settings
  if (server_url !== undefined) return server_url.replace(/\/$/, '')
  const own = server ?? snapshot.server
  if (own) return serverUrl(own, { base, values })
  // Without servers, the default is "/", relative to the document.
  return serverUrl({ url: '/', variables: {} }, { base })
}

export function serverFor(operation: ApiOperation, api: Api, settings: Settings): string {
  try {
    return urlFor(operation, api, settings)
  } catch (error) {
    if (!(error instanceof NoServer)) throw error
    throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'openapi.server_url', message: error.message }] })
  }
}

/** The server of the document; null if it has none that can be called. */
export function serverUrlOf(api: Api, settings: Settings): string | null {
  try {
    return urlFor({}, api, settings)
  } catch (error) {
    if (error instanceof NoServer) return null
    throw error
  }
}

/** The servers that the selected operations use, and one operation of each. */
function serversOf(api: Api, settings: Settings): Map<string, ApiOperation> {
  const servers = new Map<string, ApiOperation>()
  const seen = new Set<unknown>()
  for (const operation of selected(api.snapshot.operations, settings)) {
    const key = operation.server?.url ?? ''
    if (seen.has(key)) continue
    seen.add(key)
    servers.set(urlFor(operation, api, settings), operation)
  }
  return servers
}

/** The servers that the selected operations use. All of them can be called. */
export const serverUrls = (api: Api, settings: Settings): string[] => [...serversOf(api, settings).keys()]

/**
 * Servers that cannot be called are refused now, not on the first call. After a refresh, a document must not send the
 * credentials of the tool to another host than before.
 */
export function checkServers(
  api: Api,
  settings: Settings,
  { outbound }: Pick<ToolDeps, 'outbound'>,
  before?: { readonly api: Api; readonly settings: Settings },
): Fault[] {
  try {
    const servers = serversOf(api, settings)
    const known =
      before && new Set([...serversOf(before.api, before.settings).keys()].map((url) => new URL(url).origin))
    return [...servers].flatMap(([url, operation]): Fault[] => {
      const place = `${operation.method} ${operation.path}`
      const refusal = outbound.refusalOf(new URL(url))
      if (refusal !== undefined) {
        return [{ path: 'openapi.server_url', message: `${url} cannot be called (${place}): ${refusal}` }]
      }
      if (!known || known.has(new URL(url).origin)) return []
      const message = `the document now sends requests to ${new URL(url).origin} (${place}), which it did not before. Set server_url to the server that you trust`
      return [{ path: 'openapi.server_url', message }]
    })
  } catch (error) {
    if (!(error instanceof NoServer)) throw error
    return [{ path: 'openapi.server_url', message: `is needed: ${error.message}` }]
  }
}
