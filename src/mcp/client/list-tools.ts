import { type Client, SdkError, SdkErrorCode, type Tool } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { isObject } from '../../lib/json.ts'

/** Ten thousand tools on pages of twenty; whoever has more pages than that does not end. */
export const mostPages = 500
const pageTimeout = 10_000
const wholeTimeout = 60_000

/** Every tool that a server has, page after page. One that is not described as a tool has to be costs only itself. */
export async function listTools(client: Client): Promise<readonly Tool[]> {
  const options = { timeout: pageTimeout, signal: AbortSignal.timeout(wholeTimeout) }
  try {
    return readAll((await client.listTools(undefined, options)).tools)
  } catch (error) {
    if (!(error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)) throw error
    return listGoodOnes(client, options, error)
  }
}

const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })

async function listGoodOnes(client: Client, options: object, because: SdkError): Promise<readonly Tool[]> {
  const tools: Tool[] = []
  let said = 0
  let cursor: string | undefined
  for (let pages = 0; pages < mostPages; pages++) {
    const page = await client.request({ method: 'tools/list', params: cursor ? { cursor } : {} }, Page, options)
    said += page.tools.length
    tools.push(...readAll(page.tools))
    cursor = page.nextCursor
    if (cursor) continue
    // Something is wrong with all of them, which is not to look like a server without tools.
    if (tools.length === 0 && said > 0) throw because
    return tools
  }
  throw because
}

const readAll = (all: readonly unknown[]): Tool[] => all.flatMap((one) => readTool(one) ?? [])

/**
 * What a tool is called and takes has to be right. What else is said of it has to be right or is left out: our clients
 * would refuse a list with one such entry in it, older ones for more reasons than newer ones.
 */
function readTool(one: unknown): Tool | undefined {
  if (!isObject(one) || typeof one.name !== 'string' || isTooLarge(one)) return undefined
  // Many a server leaves out the schema of a tool that takes nothing.
  const inputSchema = one.inputSchema ?? { type: 'object' }
  if (!isObjectSchema(inputSchema)) return undefined
  const wrong = Object.entries(optional).filter(([field, isRight]) => one[field] !== undefined && !isRight(one[field]))
  const tool = { ...one, inputSchema } as Record<string, unknown>
  for (const [field] of wrong) delete tool[field]
  return tool as unknown as Tool
}

/** No model is served with a larger definition, and to check, hash and print it would keep everyone waiting. */
const mostCharacters = 1_000_000
const mostValues = 50_000

function isTooLarge(definition: unknown): boolean {
  let characters = 0
  let values = 0
  const left: unknown[] = [definition]
  while (left.length > 0) {
    const value = left.pop()
    if (++values > mostValues) return true
    if (typeof value === 'string') characters += value.length
    else if (Array.isArray(value)) for (const item of value) left.push(item)
    else if (isObject(value)) {
      for (const key in value) {
        characters += key.length
        left.push(value[key])
      }
    }
    if (characters > mostCharacters || left.length > mostValues) return true
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
