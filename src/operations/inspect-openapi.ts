import { z } from 'zod'
import type { JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import { Id } from '../model/page.ts'
import { credentialNeeds } from '../tools/openapi/credential-needs.ts'
import type { ApiOperation } from '../tools/openapi/operation.ts'
import { serverUrlOf } from '../tools/openapi/server-of.ts'
import { fetchDocument, importDocument } from '../tools/openapi/source.ts'
import { CredentialNeed } from '../tools/tool-type.ts'
import { readProjectFile } from './files.ts'
import { creates } from './operation.ts'

export const OperationView = z.object({
  name: z.string().describe('The name of the action, also for include, exclude and actions'),
  method: z.string(),
  path: z.string(),
  title: z.string().nullable(),
  tags: z.array(z.string()),
  deprecated: z.boolean(),
  size: z.int().describe('Characters of JSON of its input schema, as models see it'),
  whole_size: z.int().describe('The same before it was reduced; equal if it is small enough'),
})

/** What a document offers, before a tool is made of it. */
export const ApiView = z.object({
  snapshot: z.string().describe('Send this as openapi.snapshot to create a tool without sending the document again'),
  title: z.string(),
  description: z.string(),
  version: z.string().describe('The version of OpenAPI that the document is written in'),
  server_url: z.string().nullable().describe('Where requests go; null if openapi.server_url is needed'),
  credentials: z.array(CredentialNeed),
  operations: z.array(OperationView),
  left_out: z
    .array(z.object({ operation: z.string(), reason: z.string() }))
    .describe('Operations that cannot be called, and why'),
})

export const inspectOpenApi = creates({
  name: 'inspect-openapi',
  permission: 'tools:InspectOpenApi',
  route: 'POST /tools/inspect-openapi',
  summary: 'Read an OpenAPI document and list its operations, without creating a tool',
  example: {
    document: {
      openapi: '3.1.0',
      servers: [{ url: 'https://api.example.com' }],
      paths: { '/orders': { get: { operationId: 'list-orders', summary: 'List orders' } } },
    },
  },
  kind: 'tool',
  status: 200,
  input: z.strictObject({
    project_id: Id.optional(),
    url: z
      .url({ protocol: /^https?$/ })
      .max(8192)
      .optional()
      .describe('URL of the document, JSON or YAML'),
    document: z
      .custom<string | JsonObject>(
        (value) => typeof value === 'string' || (typeof value === 'object' && value !== null),
      )
      .meta({ type: ['string', 'object'] })
      .optional()
      .describe('The document itself: text, JSON, or the id of a stored file'),
    follow_references: z
      .boolean()
      .optional()
      .describe('Also fetch the documents that the document at the URL refers to'),
  }),
  output: ApiView,
  async run({ url, document, follow_references: follows }, context) {
    const { projectId, toolDeps } = context
    const bytes = await read(
      url,
      document,
      (id) => readProjectFile(id, projectId, context),
      (from) => fetchDocument(from, projectId, toolDeps),
    )
    const hash = await importDocument(bytes, projectId, toolDeps, { follow: follows ? url : undefined })
    const api = await toolDeps.apis.find(projectId, hash)
    if (!api) throw new PlatformError('INTERNAL', {})
    const { title, description, version, operations, leftOut } = api.snapshot
    return {
      snapshot: hash,
      ...{ title, description, version },
      server_url: serverUrlOf(api, { url }),
      credentials: credentialNeeds(api.snapshot, {}),
      operations: operations.map(view),
      left_out: leftOut.map((one) => ({ ...one })),
    }
  },
})

async function read(
  url: string | undefined,
  document: string | JsonObject | undefined,
  readFile: (id: string) => Promise<Uint8Array>,
  fetch: (url: string) => Promise<Uint8Array>,
): Promise<Uint8Array> {
  if ((url === undefined) === (document === undefined)) {
    throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: '', message: 'send either url or document' }] })
  }
  if (url !== undefined) return fetch(url)
  if (typeof document === 'string' && /^file_\w+$/.test(document)) return readFile(document)
  return Buffer.from(typeof document === 'string' ? document : JSON.stringify(document))
}

const view = ({ name, method, path, title, tags, deprecated, size, wholeSize }: ApiOperation) => ({
  ...{ name, method, path, title: title ?? null, tags: [...tags], deprecated: deprecated === true },
  size,
  whole_size: wholeSize,
})
