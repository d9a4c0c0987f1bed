import type { JsonObject } from '../lib/json.ts'
import type { Server } from '../model/server.ts'

interface Listed {
  readonly server: Server
  readonly tools: readonly JsonObject[]
  readonly resources: readonly JsonObject[]
  readonly templates: readonly JsonObject[]
}

const usage = `To use a tool, write a use_mcp_tool block:

<use_mcp_tool>
<server_name>server name here</server_name>
<tool_name>tool name here</tool_name>
<arguments>
{
  "param1": "value1"
}
</arguments>
</use_mcp_tool>

To read a resource, write an access_mcp_resource block:

<access_mcp_resource>
<server_name>server name here</server_name>
<uri>resource URI here</uri>
</access_mcp_resource>

- server_name, tool_name and arguments are required. arguments is a JSON object that follows the input schema of the tool. Send {} if a tool takes no input.
- Use one tool at a time. Wait for its result before you use the next one.
- If a block fails, read the error: correct the arguments, ask the user if permission is missing, or try again later if the server failed.
- Write blocks as plain text. A block inside a code fence, inline code or a comment is not run.`

/** The tool section of a system prompt. */
export const promptFor = (listed: readonly Listed[]): string =>
  ['# MCP tools', usage, '# Servers', ...(listed.length > 0 ? listed.map(section) : ['No server is available.'])].join(
    '\n\n',
  )

/** More would fill the context of the model. It can still read the others by their URI. */
const maxResources = 100

function section({ server, tools, resources, templates }: Listed): string {
  const parts = [
    `## ${server.slug}`,
    ...(server.description ? [server.description] : []),
    ...(tools.length > 0 ? ['### Tools', ...tools.map(toolText)] : ['This server has no tools.']),
    ...(templates.length > 0
      ? ['### Resource templates', lines(templates.map((one) => resourceText(one.uriTemplate, one)))]
      : []),
    ...(resources.length > 0 ? ['### Resources', lines(resources.map((one) => resourceText(one.uri, one)))] : []),
  ]
  return parts.join('\n\n')
}

const toolText = ({ name, description, inputSchema }: JsonObject): string =>
  `- ${String(name)}${description ? `: ${String(description)}` : ''}\n  Input schema: ${JSON.stringify(inputSchema)}`

const resourceText = (uri: unknown, { name, description }: JsonObject): string =>
  `- ${String(uri)} (${String(name)})${description ? `: ${String(description)}` : ''}`

const lines = (all: readonly string[]): string => {
  const left = all.length - maxResources
  return [...all.slice(0, maxResources), ...(left > 0 ? [`- and ${left} more`] : [])].join('\n')
}
