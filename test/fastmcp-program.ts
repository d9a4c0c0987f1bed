import { FastMCP } from 'fastmcp'
import { z } from 'zod'

/** A FastMCP server over stdio with a tool, a prompt, a resource and a template, which complete their arguments. */
const server = new FastMCP({ name: 'fast', version: '1.0.0' })

const colours = ['red', 'rose', 'blue']
const completed = async (value: string) => ({ values: colours.filter((one) => one.startsWith(value)) })

server.addTool({
  name: 'mix',
  description: 'Mixes two colours',
  parameters: z.object({ one: z.string(), other: z.string() }),
  execute: async ({ one, other }) => `${one} and ${other}`,
})
server.addPrompt({
  name: 'paint',
  description: 'Asks for a picture',
  arguments: [{ name: 'colour', description: 'The main colour', required: true, complete: completed }],
  load: async ({ colour }) => `Paint something ${colour}.`,
})
server.addResource({
  uri: 'paint://palette',
  name: 'Palette',
  mimeType: 'text/plain',
  load: async () => ({ text: colours.join(', ') }),
})
server.addResourceTemplate({
  uriTemplate: 'paint://colours/{name}',
  name: 'Colour',
  mimeType: 'text/plain',
  arguments: [{ name: 'name', required: true, complete: completed }],
  load: async ({ name }) => ({ text: `This is ${name}.` }),
})

await server.start({ transportType: 'stdio' })
