import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import type { JsonObject } from '../../lib/json.ts'
import { isTooLarge, maxPages } from './list-tools.ts'

/** A wrong optional field is dropped: a client would reject the whole list because of one such entry. */
const text = z.string().optional().catch(undefined)
const object = z.record(z.string(), z.unknown()).optional().catch(undefined)
const common = {
  title: text,
  description: text,
  icons: z
    .array(z.looseObject({ src: z.string() }))
    .optional()
    .catch(undefined),
  _meta: object,
}

/** Text that can be stored and displayed. */
const Name = z
  .string()
  .min(1)
  .max(500)
  .refine((name) => name.isWellFormed() && !name.includes('\0'))
const Uri = Name.max(8192)

const Argument = z.looseObject({
  name: z.string(),
  title: text,
  description: text,
  required: z.boolean().optional().catch(undefined),
})

export const Prompt = z.looseObject({ ...common, name: Name, arguments: z.array(Argument).optional().catch(undefined) })
export type Prompt = z.infer<typeof Prompt>

const ofResource = { ...common, name: z.string(), mimeType: text, annotations: object }

export const Resource = z.looseObject({ ...ofResource, uri: Uri, size: z.number().optional().catch(undefined) })
export type Resource = z.infer<typeof Resource>

export const ResourceTemplate = z.looseObject({ ...ofResource, uriTemplate: Uri })
export type ResourceTemplate = z.infer<typeof ResourceTemplate>

/** What an MCP server offers beside its tools. */
export interface Offers {
  readonly prompts: readonly Prompt[]
  readonly resources: readonly Resource[]
  readonly templates: readonly ResourceTemplate[]
  /** Whether it has resources at all. Some are in no list. */
  readonly hasResources: boolean
  readonly completes: boolean
}

export const noOffers: Offers = { prompts: [], resources: [], templates: [], hasResources: false, completes: false }

const pageTimeout = 10_000
const wholeTimeout = 60_000
/** More would be useless for people and models. */
const maxEntries = 10_000

/** Lists everything that the server declares. Entries with an invalid definition are skipped. */
export async function listOffers(client: Client): Promise<Offers> {
  const { prompts, resources, completions } = client.getServerCapabilities() ?? {}
  const has = { prompts: prompts !== undefined, resources: resources !== undefined }
  const [listedPrompts, listedResources, templates] = await Promise.all([
    has.prompts ? listAll(client, 'prompts/list', 'prompts', Prompt) : [],
    has.resources ? listAll(client, 'resources/list', 'resources', Resource) : [],
    // Many servers with resources have no templates, and do not know the method.
    has.resources
      ? listAll(client, 'resources/templates/list', 'resourceTemplates', ResourceTemplate).catch(emptyIfUnknown)
      : [],
  ])
  return {
    prompts: listedPrompts,
    resources: listedResources,
    templates,
    hasResources: has.resources,
    completes: completions !== undefined,
  }
}

const methodNotFound = -32601

function emptyIfUnknown(error: unknown): never[] {
  if (Object(error).code === methodNotFound) return []
  throw error
}

async function listAll<Entry>(
  client: Client,
  method: string,
  field: string,
  schema: z.ZodType<Entry>,
): Promise<readonly Entry[]> {
  const options = { timeout: pageTimeout, signal: AbortSignal.timeout(wholeTimeout) }
  const Page = z.looseObject({ [field]: z.array(z.unknown()), nextCursor: z.string().optional() })
  const entries: Entry[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < maxPages; pages++) {
    const page: JsonObject = (await client.request(
      { method, params: cursor === undefined ? {} : { cursor } },
      Page,
      options,
    )) as JsonObject
    for (const one of page[field] as unknown[]) {
      const { data } = isTooLarge(one) ? {} : schema.safeParse(one)
      if (data !== undefined) entries.push(data)
    }
    cursor = page.nextCursor as string | undefined
    if (!cursor || entries.length >= maxEntries) break
  }
  return entries.slice(0, maxEntries)
}
