import { type Client, SdkError, SdkErrorCode, type Tool } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { isObject } from '../model/json.ts'

/** Ten thousand tools on pages of twenty; whoever has more pages than that does not end. */
export const mostPages = 500
const pageTimeout = 10_000
const wholeTimeout = 60_000

/** Every tool that a server has, page after page. One that is not described as a tool has to be costs only itself. */
export async function listTools(client: Client): Promise<readonly Tool[]> {
  const options = { timeout: pageTimeout, signal: AbortSignal.timeout(wholeTimeout) }
  try {
    return (await client.listTools(undefined, options)).tools
  } catch (error) {
    if (!(error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)) throw error
    return listGoodOnes(client, options, error)
  }
}

const Page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() })

async function listGoodOnes(client: Client, options: object, because: SdkError): Promise<readonly Tool[]> {
  const tools: Tool[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < mostPages; pages++) {
    const page = await client.request({ method: 'tools/list', params: cursor ? { cursor } : {} }, Page, options)
    tools.push(...page.tools.flatMap((one) => readTool(one) ?? []))
    cursor = page.nextCursor
    if (!cursor) return tools
  }
  throw because
}

const Described = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  annotations: z.looseObject({}).optional(),
})

/** Many a server leaves out the schema of a tool that takes nothing. */
function readTool(one: unknown): Tool | undefined {
  const { data } = Described.safeParse(one)
  const inputSchema = data?.inputSchema ?? { type: 'object' }
  return data && isObject(inputSchema) ? ({ ...data, inputSchema } as unknown as Tool) : undefined
}
