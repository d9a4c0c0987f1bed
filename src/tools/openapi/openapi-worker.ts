import { parentPort } from 'node:worker_threads'
import { convert } from './convert.ts'
import { DocumentFault, readDocument } from './document.ts'
import type { ImportJob, ImportResult } from './import-thread.ts'
import { encodeSnapshot } from './snapshot.ts'

/** Parsing and converting a large document takes seconds, so it happens in a thread. */
parentPort?.on('message', (job: ImportJob) => {
  const result = resultOf(job)
  parentPort?.postMessage(result, 'bytes' in result ? [result.bytes.buffer as ArrayBuffer] : [])
})

function resultOf({ bytes, names }: ImportJob): ImportResult {
  try {
    const { hash, bytes: encoded } = encodeSnapshot(convert(readDocument(textOf(bytes)), new Map(names)))
    return { hash, bytes: new Uint8Array(encoded) }
  } catch (error) {
    if (error instanceof DocumentFault) return { fault: error.message, place: error.place }
    if (error instanceof RangeError) return { fault: 'is nested too deeply, or too large', place: undefined }
    if (error instanceof TypeError && 'code' in error) return { fault: 'is not UTF-8 text', place: undefined }
    throw error
  }
}

const textOf = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes)
