import { PlatformError } from '../../model/errors.ts'
import type { ToolDeps } from '../tool-type.ts'
import type { Api } from './api.ts'
import { DocumentFault } from './document.ts'
import type { SourceDocument } from './import-thread.ts'

/** The largest known document has 47 MB. */
const largestDocument = 64 * 1024 * 1024
const timeoutSeconds = 60

const invalid = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })

/** Fetches a document through the egress guard. References to other documents are not followed. */
export async function fetchDocument(
  url: string,
  projectId: string,
  { outbound }: Pick<ToolDeps, 'outbound'>,
): Promise<Uint8Array> {
  const owner = { project: projectId, credentials: ['openapi document', url] }
  const limit = new AbortController()
  const timeout = new PlatformError('TOOL_TIMEOUT', { seconds: timeoutSeconds })
  const timer = setTimeout(() => limit.abort(timeout), timeoutSeconds * 1000)
  try {
    const response = await outbound.client(owner, largestDocument).request({
      url: new URL(url),
      method: 'GET',
      headers: { accept: 'application/json, application/yaml;q=0.9, */*;q=0.5', 'user-agent': 'quartermaster' },
      signal: limit.signal,
    })
    if (response.status !== 200) throw invalid('openapi.url', `responded with status ${response.status}`)
    return response.body
  } finally {
    clearTimeout(timer)
  }
}

export interface ImportOptions {
  readonly before?: Api | undefined
  /** Follows references from this URL to other documents. Without it they are not followed. */
  readonly follow?: string | undefined
}

/** Converts and stores a document. Its faults are reported with their place. */
export async function importDocument(
  bytes: Uint8Array,
  projectId: string,
  deps: Pick<ToolDeps, 'apis' | 'outbound'>,
  { before, follow }: ImportOptions = {},
): Promise<string> {
  if (bytes.byteLength > largestDocument) {
    throw invalid('openapi.document', `is larger than ${largestDocument / 1024 / 1024} MB`)
  }
  try {
    if (follow === undefined) return await deps.apis.import(projectId, bytes, { before })
    const others = await fetchReferenced({ url: follow, bytes }, projectId, deps)
    return await deps.apis.import(projectId, bytes, { before, url: follow, others })
  } catch (error) {
    if (!(error instanceof DocumentFault)) throw error
    throw invalid('openapi.document', error.place === undefined ? error.message : `${error.place}: ${error.message}`)
  }
}

const maxDocuments = 100

/** Fetches what a document refers to, and what that refers to. Each request passes the egress guard. */
async function fetchReferenced(
  document: SourceDocument,
  projectId: string,
  deps: Pick<ToolDeps, 'apis' | 'outbound'>,
): Promise<SourceDocument[]> {
  const others: SourceDocument[] = []
  const known = new Set([document.url])
  let size = document.bytes.byteLength
  const pending = [...(await deps.apis.references(document))]
  for (let url = pending.shift(); url !== undefined; url = pending.shift()) {
    if (known.has(url)) continue
    known.add(url)
    const other = { url, bytes: await fetchDocument(url, projectId, deps) }
    others.push(other)
    size += other.bytes.byteLength
    if (others.length > maxDocuments) {
      throw invalid('openapi.follow_references', `leads to more than ${maxDocuments} documents`)
    }
    if (size > largestDocument) {
      throw invalid('openapi.follow_references', `leads to more than ${largestDocument / 1024 / 1024} MB`)
    }
    pending.push(...(await deps.apis.references(other)))
  }
  return others
}
