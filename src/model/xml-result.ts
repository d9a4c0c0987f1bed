import { z } from 'zod'

/** The outcome of one block of an XML message. */
export const XmlResult = z.object({
  tag: z.enum(['use_mcp_tool', 'access_mcp_resource']),
  server_name: z.string().nullable(),
  tool_name: z.string().nullable(),
  uri: z.string().nullable(),
  status: z
    .enum(['success', 'error', 'denied', 'skipped'])
    .describe('skipped: the block was not run, because it is quoted, cut off, or follows one that failed'),
  text: z.string().describe('What the model reads'),
  images: z.array(z.object({ mime_type: z.string(), data: z.string().describe('Base64') })).optional(),
  error: z
    .object({ code: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()) })
    .optional()
    .describe('Set if the status is error or denied'),
  error_class: z
    .enum(['invalid_parameters', 'permission', 'server'])
    .optional()
    .describe('Whether to correct the block, to ask for permission, or to try again later'),
})
export type XmlResult = z.infer<typeof XmlResult>

export const XmlResults = z.object({
  text: z.string().describe('All results as one message for the model'),
  results: z.array(XmlResult).describe('One for each block, in the order of the message'),
})

/** What a model has to know to write XML messages. */
export const XmlPrompt = z.object({ prompt: z.string() })
