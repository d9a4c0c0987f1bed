import { basename } from 'node:path'
import { isObject, type JsonObject } from '../../lib/json.ts'
import type { CallContext, ToolDeps } from '../tool-type.ts'
import type { LoadFile } from './request-body.ts'

const pieceBytes = 1024 * 1024

/** Reads stored files through the API, so that the caller needs access to them. */
export function loadFileFor(context: CallContext, { perform }: Pick<ToolDeps, 'perform'>): LoadFile {
  const ask = async (name: string, input: JsonObject): Promise<JsonObject> => {
    const output = await perform(name, input, context)
    return 'value' in output && isObject(output.value) ? output.value : {}
  }
  return async (id) => {
    const file = await ask('get-file', { id })
    const pieces: Buffer[] = []
    for (let start = 0; start < Number(file.size); start += pieceBytes) {
      const piece = await ask('read-file', { id, encoding: 'base64', start, length: pieceBytes })
      pieces.push(Buffer.from(String(piece.content), 'base64'))
    }
    return {
      bytes: Buffer.concat(pieces),
      contentType: String(file.content_type),
      name: basename(String(file.path)),
    }
  }
}
