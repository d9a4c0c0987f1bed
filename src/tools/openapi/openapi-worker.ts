import { parentPort } from 'node:worker_threads'
import { isObject } from '../../lib/json.ts'
import { convert } from './convert.ts'
import { type ApiDocument, DocumentFault, parseText, readDocument, upgraded } from './document.ts'
import type { ImportJob, ImportResult } from './import-thread.ts'
import { bundled, referencedUrls } from './references.ts'
import { encodeSnapshot } from './snapshot.ts'

/** Parsing and converting a large document takes seconds, so it happens in a thread. */
parentPort?.on('message', (job: ImportJob) => {
  const result = resultOf(job)
  parentPort?.postMessage(result, 'bytes' in result ? [result.bytes.buffer as ArrayBuffer] : [])
})

function resultOf(job: ImportJob): ImportResult {
  try {
    if (job.task === 'references') return { urls: referencedUrls(parseText(textOf(job.bytes)), job.url) }
    const { hash, bytes } = encodeSnapshot(convert(documentOf(job), new Map(job.names)))
    return { hash, bytes: new Uint8Array(bytes) }
  } catch (error) {
    if (error instanceof DocumentFault) return { fault: error.message, place: error.place }
    if (error instanceof RangeError) return { fault: 'is nested too deeply, or too large', place: undefined }
    if (error instanceof TypeError && 'code' in error) return { fault: 'is not UTF-8 text', place: undefined }
    throw error
  }
}

function documentOf({ bytes, url, others = [] }: Extract<ImportJob, { task: 'convert' }>): ApiDocument {
  if (url === undefined || others.length === 0) return readDocument(textOf(bytes))
  const root = parseText(textOf(bytes))
  const texts = new Map(others.map((one) => [one.url, parseText(textOf(one.bytes))]))
  return upgraded(isObject(root) ? bundled(root, url, texts) : root)
}

const textOf = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes)
