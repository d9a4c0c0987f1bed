import { completable, McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { startMcpServer, type TestMcpServer } from './mcp-server.ts'

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const user = <Content extends object>(content: Content) => ({ role: 'user' as const, content })
const text = (value: string) => user({ type: 'text' as const, text: value })

/** A server with the prompts and resources that the official conformance suite expects. */
export const startConformanceLibrary = (): Promise<TestMcpServer> =>
  startMcpServer(() => {
    const server = new McpServer(
      { name: 'library', version: '1' },
      { capabilities: { resources: { subscribe: true }, completions: {} } },
    )
    addPrompts(server)
    addResources(server)
    return server
  })

function addPrompts(server: McpServer): void {
  server.registerPrompt('test_simple_prompt', { description: 'A prompt' }, () => ({
    messages: [text('This is a simple prompt for testing.')],
  }))
  const completed = () =>
    completable(z.string(), (value) => ['paris', 'park', 'test-1'].filter((one) => one.startsWith(value)))
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'A prompt', argsSchema: z.object({ arg1: completed(), arg2: z.string() }) },
    ({ arg1, arg2 }) => ({ messages: [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A prompt', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => ({
      messages: [
        user({
          type: 'resource' as const,
          resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        }),
        text('Please process the embedded resource above.'),
      ],
    }),
  )
  server.registerPrompt('test_prompt_with_image', { description: 'A prompt' }, () => ({
    messages: [
      user({ type: 'image' as const, data: png, mimeType: 'image/png' }),
      text('Please analyze the image above.'),
    ],
  }))
}

function addResources(server: McpServer): void {
  server.registerResource('text', 'test://static-text', { mimeType: 'text/plain' }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
  }))
  server.registerResource('binary', 'test://static-binary', { mimeType: 'image/png' }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'image/png', blob: png }],
  }))
  server.registerResource('watched', 'test://watched-resource', { mimeType: 'text/plain' }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'watched' }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  server.registerResource('template', template, { mimeType: 'application/json' }, ({ href: uri }, { id }) => ({
    contents: [{ uri, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true }) }],
  }))
}
