import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { authorizedClient } from '../../credentials/connections/authorization.ts'
import { withoutCredentials } from '../../credentials/names.ts'
import { masked, maskedUrl, maskedValues, secretsIn, secretsInUrl } from '../../credentials/tool-secrets.ts'
import { lineageHeader } from '../../http/lineage.ts'
import type { OutboundResponse } from '../../http/outbound.ts'
import type { JsonObject } from '../../lib/json.ts'
import { type Fault, PlatformError } from '../../model/errors.ts'
import { Headers } from '../../model/tool.ts'
import { formHints } from '../form-hints.ts'
import { refused } from '../http-response.ts'
import { type ActionDefinition, defineToolType, identityHeaders, type ToolDeps } from '../tool-type.ts'
import type { Api } from './api.ts'
import { credentialNeeds } from './credential-needs.ts'
import type { ApiOperation } from './operation.ts'
import { buildRequest } from './request.ts'
import { resultOf } from './result.ts'
import { authenticate } from './security.ts'
import { ActionOverride, actionName, checkSelection, OperationFilter, operationName, selected } from './selection.ts'
import { checkServers, serverFor, serverUrls } from './server-of.ts'
import { fetchDocument, importDocument } from './source.ts'
import { loadFileFor } from './stored-files.ts'

const Address = z.string().min(1).max(8192)
const maxFilters = 2000

/** Where the document is, which of its operations are offered, and how requests are authenticated. */
export const OpenApi = z
  .strictObject({
    url: Address.optional()
      .meta({ title: 'URL', description: 'URL of the document, JSON or YAML' })
      .register(formHints, { placeholder: 'https://api.example.com/openapi.json' }),
    document: z
      .custom<string | JsonObject>(
        (value) => typeof value === 'string' || (typeof value === 'object' && value !== null),
      )
      .optional()
      .meta({
        type: ['string', 'object'],
        title: 'Document',
        description: 'The document itself: text, JSON, or the id of a stored file. It is not returned: see snapshot',
      }),
    server_url: Address.optional()
      .meta({
        title: 'Server URL',
        description: 'Send all requests here instead of to the server that the document names',
      })
      .register(formHints, { placeholder: 'https://api.example.com' }),
    server_variables: z
      .record(z.string(), z.string().max(1000))
      .optional()
      .meta({ title: 'Server variables', description: 'Values for the variables in the server URL of the document' })
      .register(formHints, { add: 'Add a variable' }),
    include: z
      .array(OperationFilter)
      .max(maxFilters)
      .optional()
      .meta({ title: 'Include', description: 'Offer only operations that match one of these' }),
    exclude: z
      .array(OperationFilter)
      .max(maxFilters)
      .optional()
      .meta({ title: 'Exclude', description: 'Leave out operations that match one of these' }),
    actions: z.record(z.string(), ActionOverride).optional().meta({
      title: 'Actions',
      description: 'Names, descriptions and levels that replace those of the document, by the name of the operation',
    }),
    headers: Headers.optional()
      .meta({ title: 'Headers', description: 'Sent with every request' })
      .register(formHints, { add: 'Add a header' }),
    credentials: z
      .record(z.string(), z.string().max(8192))
      .optional()
      .meta({
        title: 'Credentials',
        description:
          'By the name of the security scheme: an API key, a token, or user:password. Use ${{ secrets.NAME }}',
      })
      .register(formHints, { add: 'Add a credential' }),
    follow_references: z.boolean().optional().meta({
      title: 'Follow references',
      description: 'Also fetch the documents that the document at the URL refers to',
    }),
    snapshot: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional()
      .describe('The imported document. Set by the platform; it changes when the document is imported again'),
    servers: z
      .array(Address)
      .max(1000)
      .optional()
      .describe('Where requests go: server_url, or the servers of the document. Set by the platform'),
  })
  .meta({ title: 'API', description: 'The OpenAPI document of an openapi tool' })
  .register(formHints, {
    rows: [['url'], ['follow_references'], ['document'], ['server_url'], ['credentials'], ['headers']],
  })
export type OpenApi = z.infer<typeof OpenApi>

/** An API with an OpenAPI document. Each operation is an action. */
export const openapi = defineToolType({
  type: 'openapi',
  title: 'OpenAPI',
  description: 'Every operation of an API that has an OpenAPI document.',
  many: true,
  config: z.object({ openapi: OpenApi }),
  summary: ['openapi.url', 'openapi.server_url'],

  check: ({ config: { openapi } }) => [
    ...checkSource(openapi),
    ...checkUrl('openapi.url', openapi.url),
    ...checkUrl('openapi.server_url', openapi.server_url),
  ],

  /** Imports the document, unless only other settings change. */
  async prepare({ config: { openapi } }, { before, projectId, readFile }, deps) {
    const { document, servers: _, ...settings } = openapi
    if (document === undefined && isDeepStrictEqual(openapi, before?.openapi)) return { openapi }
    const isSameUrl = openapi.url !== undefined && openapi.url === before?.openapi.url
    const kept = openapi.snapshot ?? (isSameUrl ? before?.openapi.snapshot : undefined)
    const isSameSource =
      openapi.url === before?.openapi.url && openapi.follow_references === before?.openapi.follow_references
    const usesKept = document === undefined && kept !== undefined && (isSameSource || !before)
    const source = usesKept ? undefined : await sourceOf(openapi, projectId, readFile, deps)
    const last = before?.openapi.snapshot && (await deps.apis.find(projectId, before.openapi.snapshot))
    const options = { before: last || undefined, follow: openapi.follow_references ? openapi.url : undefined }
    const snapshot = source ? await importDocument(source, projectId, deps, options) : kept
    const api = snapshot === undefined ? undefined : await deps.apis.find(projectId, snapshot)
    if (!api || snapshot === undefined) throw invalid('openapi.snapshot', 'is not known here: send url or document')
    const faults = [...checkApi(api), ...checkSelection(api, settings), ...checkServers(api, settings, deps)]
    if (faults.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors: faults })
    return { openapi: { ...settings, snapshot, servers: serverUrls(api, settings) } }
  },

  secrets: ({ openapi }) => [
    ...secretsIn(openapi.headers),
    ...Object.values(openapi.credentials ?? {})
      .filter((value) => !value.includes('${{'))
      .flatMap(credentialTexts),
    ...secretsInUrl(openapi.url),
  ],

  masked: ({ openapi }) => ({
    openapi: {
      ...openapi,
      ...(openapi.url !== undefined && { url: maskedUrl(openapi.url) }),
      ...maskedValues({ headers: openapi.headers }),
      ...(openapi.credentials && {
        credentials: Object.fromEntries(Object.keys(openapi.credentials).map((name) => [name, masked])),
      }),
    },
  }),

  fingerprint: ({ openapi: { credentials = {}, ...openapi } }) => ({
    openapi: {
      ...openapi,
      headers: withoutCredentials(openapi.headers),
      credentials: Object.entries(credentials).map(([name, value]) => [name, value.includes('${{') ? value : null]),
    },
  }),

  async auth({ project_id, config: { openapi } }, { apis }) {
    const api = await apis.find(project_id, openapi.snapshot ?? '')
    if (!api) return []
    const operations = selected(api.snapshot.operations, openapi)
    return credentialNeeds({ ...api.snapshot, operations }, openapi.credentials ?? {})
  },

  destination({ openapi: { server_url, servers = [] } }) {
    const [url, ...others] = server_url === undefined ? servers : [server_url]
    return url === undefined ? undefined : { url, others, discovers: false }
  },

  secretsGoTo: ({ openapi: { url, server_url, servers = [] } }) =>
    [url, ...(server_url === undefined ? servers : [server_url])].map((one) => URL.parse(one ?? '')?.origin ?? one),

  addresses: ({ openapi }) => [openapi.url, openapi.server_url].filter((url) => url !== undefined),

  async actions({ project_id, config: { openapi } }, deps) {
    const api = await requireApi(project_id, openapi, deps)
    const actions: ActionDefinition[] = []
    let until = performance.now() + sliceMs
    for (const operation of selected(api.snapshot.operations, openapi)) {
      actions.push(actionOf(operation, api, openapi))
      if (performance.now() < until) continue
      await setImmediate()
      until = performance.now() + sliceMs
    }
    return actions
  },

  /** Fetches the document again. A document that was sent as text stays as it is. */
  async refresh({ project_id, config: { openapi } }, deps) {
    if (openapi.url === undefined) return undefined
    const before = await requireApi(project_id, openapi, deps)
    const source = await fetchDocument(openapi.url, project_id, deps)
    const follow = openapi.follow_references ? openapi.url : undefined
    const snapshot = await importDocument(source, project_id, deps, { before, follow })
    const found = { ...openapi, snapshot }
    const api = await requireApi(project_id, found, deps)
    const faults = [...checkApi(api), ...checkServers(api, found, deps, { api: before, settings: openapi })]
    if (faults.length > 0) throw new PlatformError('VALIDATION_FAILED', { errors: faults })
    const next = { openapi: { ...found, servers: serverUrls(api, found) } }
    return isDeepStrictEqual(next.openapi, openapi) ? undefined : next
  },

  async health({ id, project_id, config: { openapi } }, { apis }) {
    const api = await apis.find(project_id, openapi.snapshot ?? '')
    return apis.health.of(id, api ? selected(api.snapshot.operations, openapi).length : null)
  },

  async execute(call, deps) {
    const { tool, config, action, input, signal, redactor, authorization, callId, depth, context } = call
    const { openapi } = config
    const api = await requireApi(tool.project_id, openapi, deps)
    const operation = api.find(operationName(action.name, openapi))
    if (!operation) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'action', id: action.name })
    const { security } = api.snapshot
    const authentication = authenticate(operation.security, security, openapi.credentials ?? {})
    const server = serverFor(operation, api, openapi)
    const loadFile = loadFileFor(call, deps)
    const request = await buildRequest(operation, input, { server, authentication, loadFile })
    const own = Object.entries(openapi.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
    const { headers, credentials } = openapi
    const owner = {
      project: tool.project_id,
      credentials: ['openapi', server, headers, credentials, authorization?.key],
    }
    const http = deps.outbound.client(owner)
    const client = authorization ? authorizedClient(http, authorization) : http
    const sent = {
      ...request,
      headers: {
        'user-agent': 'quartermaster',
        ...request.headers,
        ...Object.fromEntries(own),
        ...identityHeaders(tool, context),
        [lineageHeader]: deps.lineage.print({ callId, depth }),
      },
      signal,
    }
    const response = await withHealth(tool.id, deps, () => client.request(sent))
    if (response.status < 200 || response.status > 299) {
      throw refused({ url: `${server}${operation.path}`, method: operation.method }, redactor, response)
    }
    return resultOf(operation, response, call, deps)
  },
})

/** Remembers whether the service responded. Errors that it blames on the request do not count. */
async function withHealth(
  toolId: string,
  { apis }: ToolDeps,
  request: () => Promise<OutboundResponse>,
): Promise<OutboundResponse> {
  try {
    const response = await request()
    if (response.status < 500) apis.health.up(toolId)
    else apis.health.down(toolId, `The service responded with status ${response.status}.`)
    return response
  } catch (error) {
    const isUnreachable = error instanceof PlatformError && error.code === 'TOOL_UNREACHABLE'
    if (isUnreachable) apis.health.down(toolId, error.message)
    throw error
  }
}

/** Milliseconds of work before other requests get their turn. */
const sliceMs = 5

const invalid = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })

const checkSource = ({ url, document, snapshot }: OpenApi): Fault[] => {
  if (url === undefined && document === undefined && snapshot === undefined) {
    return [{ path: 'openapi', message: 'needs url or document' }]
  }
  if (url !== undefined && document !== undefined) {
    return [{ path: 'openapi.document', message: 'cannot be combined with url: send one of them' }]
  }
  return []
}

function checkUrl(path: string, url: string | undefined): Fault[] {
  if (url === undefined) return []
  const parsed = URL.parse(url)
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    return [{ path, message: 'must be a URL that starts with http:// or https://' }]
  if (parsed.username !== '' || parsed.password !== '')
    return [{ path, message: 'must not contain a user name or password' }]
  return []
}

const checkApi = ({ snapshot: { operations, leftOut } }: Api): Fault[] => {
  if (operations.length > 0) return []
  const [first] = leftOut
  const why = first ? `: ${first.operation}: ${first.reason}` : ''
  return [{ path: 'openapi', message: `the document has no operation that can be called${why}` }]
}

async function sourceOf(
  { url, document }: OpenApi,
  projectId: string,
  readFile: (id: string) => Promise<Uint8Array>,
  deps: ToolDeps,
): Promise<Uint8Array> {
  if (url !== undefined) return fetchDocument(url, projectId, deps)
  if (typeof document === 'string') return /^file_\w+$/.test(document) ? readFile(document) : Buffer.from(document)
  return Buffer.from(JSON.stringify(document))
}

async function requireApi(projectId: string, { snapshot = '' }: OpenApi, { apis }: ToolDeps): Promise<Api> {
  const api = await apis.find(projectId, snapshot)
  if (!api) throw invalid('openapi.snapshot', 'is missing: import the document again')
  return api
}

/** GET, HEAD and OPTIONS only read. */
const isRead = ({ method }: ApiOperation) => method === 'GET' || method === 'HEAD' || method === 'OPTIONS'

function actionOf(operation: ApiOperation, api: Api, settings: OpenApi): ActionDefinition {
  const { name, title, description, output, method, step } = operation
  const override = settings.actions && Object.hasOwn(settings.actions, name) ? settings.actions[name] : undefined
  const reads = isRead(operation)
  return {
    name: actionName(operation, settings),
    description: override?.description ?? description,
    schema: api.schemaOf(operation),
    ...(step > 0 && { wholeSchema: () => api.wholeSchemaOf(operation) }),
    ...(output && { outputSchema: output }),
    ...(override?.level && { level: override.level }),
    idempotent: reads,
    destructive: !reads,
    readOnly: reads,
    definition: {
      ...(title !== undefined && { title }),
      annotations: {
        readOnlyHint: reads,
        idempotentHint: reads || method === 'PUT' || method === 'DELETE',
        destructiveHint: !reads,
        openWorldHint: true,
      },
    },
  }
}

/** Basic authentication is only encoded, so a service may echo user and password. */
const credentialTexts = (value: string): string[] => {
  const colon = value.indexOf(':')
  return colon < 0 ? [value] : [value, value.slice(colon + 1), Buffer.from(value).toString('base64')]
}
