import { type Client, SdkError, SdkErrorCode, type Tool } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { isObject } from '../../lib/json.ts'

/** 10,000 tools on pages of 20. A server with more pages is assumed to paginate forever. */
export const maxPages = 500
const pageTimeout = 10_000
const wholeTimeout = 60_000

/** Lists all tools of a server, page by page. Skips tools with an invalid definition. */
export async function listTools(client: Client): Promise<readonly Tool[]> {
  // The SDK returns an empty list, too, but logs that to the console.
  if (client.getServerCapabilities()?.tools === undefined) return []
  const options = { timeout: pageTimeout, signal: AbortSignal.timeout(wholeTimeout) }
  try {
    return readAll((await client.listTools(undefined, options)).tools)
  } catch (error) {
    if (!(error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)) throw error
    return listValidTools(client, options, error)
  }
}

const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })

async function listValidTools(client: Client, options: object, reason: SdkError): Promise<readonly Tool[]> {
  const tools: Tool[] = []
  let listed = 0
  let cursor: string | undefined
  for (let pages = 0; pages < maxPages; pages++) {
    const page = await client.request({ method: 'tools/list', params: cursor ? { cursor } : {} }, Page, options)
    listed += page.tools.length
    tools.push(...readAll(page.tools))
    cursor = page.nextCursor
    if (cursor) continue
    // All tools are invalid. Returning an empty list would look like a server without tools.
    if (tools.length === 0 && listed > 0) throw reason
    return tools
  }
  throw reason
}

const readAll = (all: readonly unknown[]): Tool[] => all.flatMap((one) => readTool(one) ?? [])

/**
 * The name and input schema of a tool must be valid. Other invalid fields are removed: a client would reject the whole list
 * reason of one such entry, and older clients are stricter than newer ones.
 */
function readTool(one: unknown): Tool | undefined {
  if (!isObject(one) || typeof one.name !== 'string' || isTooLarge(one)) return undefined
  // Many servers omit the schema of a tool without parameters.
  const inputSchema = one.inputSchema ?? { type: 'object' }
  if (!isObjectSchema(inputSchema)) return undefined
  const wrong = Object.entries(optional).filter(([field, isRight]) => one[field] !== undefined && !isRight(one[field]))
  const tool = { ...one, inputSchema } as Record<string, unknown>
  for (const [field] of wrong) delete tool[field]
  return tool as unknown as Tool
}

/** A larger definition is useless for a model, and checking, hashing and serializing it would block the event loop. */
const maxCharacters = 1_000_000
const maxValues = 50_000

export function isTooLarge(definition: unknown): boolean {
  let characters = 0
  let values = 0
  const left: unknown[] = [definition]
  while (left.length > 0) {
    const value = left.pop()
    if (++values > maxValues) return true
    if (typeof value === 'string') characters += value.length
    else if (Array.isArray(value)) for (const item of value) left.push(item)
    else if (isObject(value)) {
      for (const key in value) {
        characters += key.length
        left.push(value[key])
      }
    }
    if (characters > maxCharacters || left.length > maxValues) return true
  }
  return false
}

const isText = (value: unknown) => typeof value === 'string'
const isMaybe = (type: string, value: unknown) => value === undefined || typeof value === type
const isSchema = (value: unknown) => isObject(value) || typeof value === 'boolean'

function isObjectSchema(value: unknown): boolean {
  if (!isObject(value) || value.type !== 'object') return false
  const { properties = {}, required = [] } = value
  const areSchemas = isObject(properties) && Object.values(properties).every(isSchema)
  return areSchemas && Array.isArray(required) && required.every(isText)
}

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

const optional: Readonly<Record<string, (value: unknown) => boolean>> = {
  title: isText,
  description: isText,
  icons: (value) => Array.isArray(value) && value.every((icon) => isObject(icon) && isText(icon.src)),
  annotations: (value) =>
    isObject(value) && isMaybe('string', value.title) && hints.every((hint) => isMaybe('boolean', value[hint])),
  outputSchema: isObjectSchema,
  execution: isObject,
  _meta: isObject,
}
