import type { OutboundResponse } from '../../http/outbound.ts'
import { isObject, type Json, type JsonObject } from '../../lib/json.ts'
import { PlatformError } from '../../model/errors.ts'
import { done, type Output } from '../../model/tool.ts'
import { readResponse } from '../http-response.ts'
import type { CallContext, ToolDeps } from '../tool-type.ts'
import { nextPage } from './next-page.ts'
import type { ApiOperation } from './operation.ts'
import { select, selectable } from './select.ts'

type Call = CallContext & { readonly input: JsonObject; readonly tool: { readonly project_id: string } }

/** The result of a successful request: what was selected, how to get more, and bytes as a file. */
export async function resultOf(
  operation: ApiOperation,
  response: OutboundResponse,
  call: Call,
  deps: Pick<ToolDeps, 'perform'>,
): Promise<Output> {
  const { input } = call
  if (operation.method === 'HEAD') return done({ status: response.status, headers: { ...response.headers } })
  const output = readResponse(response)
  if (isBinary(output.value)) return storedFile(response, output, call, deps)
  const chosen = chosenFields(operation, input, output)
  const next = nextPage(operation, input, response.headers, output.value)
  const more = next && `There are more results. For the next page, call this again with ${JSON.stringify(next)}.`
  const note = [chosen.note, more].filter((one) => one !== undefined).join(' ')
  return note === '' ? chosen : { ...chosen, note }
}

function chosenFields({ select: property }: ApiOperation, input: JsonObject, output: Output): Output {
  const asked = property === undefined ? undefined : input[property]
  const paths = Array.isArray(asked) ? asked.filter((one) => typeof one === 'string') : []
  if (paths.length === 0 || typeof output.value !== 'object') return output
  const chosen = select(output.value, paths)
  if (chosen !== undefined) return done(chosen)
  const known = selectable(output.value)
  return {
    ...output,
    note: `"${property}" matched no field, so the whole result is returned.${known.length > 0 ? ` Its fields are ${known.join(', ')}.` : ''}`,
  }
}

const isBinary = (value: Json): boolean =>
  isObject(value) && typeof value.base64 === 'string' && 'content_type' in value

const extensions: Readonly<Record<string, string>> = {
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'application/gzip': '.gz',
  'image/png': '.png',
  'image/jpeg': '.jpg',
  'image/gif': '.gif',
  'image/webp': '.webp',
  'audio/mpeg': '.mp3',
  'video/mp4': '.mp4',
}

/** Bytes are of no use to a model, so they become a file of the project. Callers who cannot create files get base64. */
async function storedFile(
  { headers, body }: OutboundResponse,
  output: Output,
  { tool, input: _, ...context }: Call,
  { perform }: Pick<ToolDeps, 'perform'>,
): Promise<Output> {
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';')
  const named = /filename="?([\w.-]{1,100})"?/.exec(headers['content-disposition'] ?? '')?.[1]
  const path = `/results/${context.callId}${named ? `-${named}` : (extensions[type.trim()] ?? '')}`
  try {
    const stored = await perform(
      'create-file',
      {
        project_id: tool.project_id,
        path,
        content: body.toString('base64'),
        encoding: 'base64',
        content_type: type.trim(),
      },
      context,
    )
    const { id, size } = 'value' in stored && isObject(stored.value) ? stored.value : ({} as JsonObject)
    return done({ file_id: id ?? null, path, content_type: type.trim(), size: size ?? body.byteLength })
  } catch (error) {
    if (error instanceof PlatformError && (error.code === 'FORBIDDEN' || error.code === 'VALIDATION_FAILED'))
      return output
    throw error
  }
}
