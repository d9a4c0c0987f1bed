import type { UpstreamTool } from './upstream.ts'

const text = (value: string) => ({ type: 'text', text: value })
const image = {
  type: 'image',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  mimeType: 'image/png',
}
const audio = {
  type: 'audio',
  data: 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=',
  mimeType: 'audio/wav',
}
const resource = {
  type: 'resource',
  resource: { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' },
}

const tool = (name: string, description: string, run: UpstreamTool['run']): UpstreamTool => ({
  name,
  description,
  inputSchema: { type: 'object', properties: {} },
  ...(run && { run }),
})

/** What the official conformance suite asks a server with tools to have. */
export const conformanceTools: UpstreamTool[] = [
  tool('test_simple_text', 'Answers text', () => ({ content: [text('This is a simple text response for testing.')] })),
  tool('test_image_content', 'Answers an image', () => ({ content: [image] })),
  tool('test_audio_content', 'Answers audio', () => ({ content: [audio] })),
  tool('test_embedded_resource', 'Answers a resource', () => ({ content: [resource] })),
  tool('test_multiple_content_types', 'Answers several kinds', () => ({
    content: [
      text('Multiple content types test:'),
      image,
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ],
  })),
  tool('test_error_handling', 'Always fails', () => ({
    content: [text('This tool intentionally returns an error for testing')],
    isError: true,
  })),
  tool('test_tool_with_progress', 'Tells how far it is', async (_input, _signal, { _meta, notify }) => {
    const progressToken = _meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return { content: [text(String(progressToken ?? 'none'))] }
  }),
  {
    name: 'json_schema_2020_12_tool',
    description: 'Tool with JSON Schema 2020-12 features',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, which nobody awaits
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    } as unknown as UpstreamTool['inputSchema'],
    run: (input) => ({ content: [text(JSON.stringify(input))] }),
  },
]
