import { PlatformError } from '../../model/errors.ts'
import type { ToolDeps } from '../tool-type.ts'
import type { Api } from './api.ts'
import { DocumentFault } from './document.ts'

/** The largest known document has 47 MB. */
const largestDocument = 64 * 1024 * 1024
const timeoutSeconds = 60

const invalid = (path: string, message: string) =>
  new PlatformError('VALIDATION_FAILED', { errors: [{ path, message }] })

/** Fetches a document through the egress guard. References to other documents are not followed. */
export async function fetchDocument(url: string, projectId: string, { outbound }: ToolDeps): Promise<Uint8Array> {
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

/** Converts and stores a document. Its faults are reported with their place. */
export async function importDocument(
  bytes: Uint8Array,
  projectId: string,
  { apis }: Pick<ToolDeps, 'apis'>,
  before?: Api,
): Promise<string> {
  if (bytes.byteLength > largestDocument) {
    throw invalid('openapi.document', `is larger than ${largestDocument / 1024 / 1024} MB`)
  }
  try {
    return await apis.import(projectId, bytes, before)
  } catch (error) {
    if (!(error instanceof DocumentFault)) throw error
    throw invalid('openapi.document', error.place === undefined ? error.message : `${error.place}: ${error.message}`)
  }
}
