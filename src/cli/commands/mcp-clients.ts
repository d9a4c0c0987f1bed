import { homedir } from 'node:os'
import { join } from 'node:path'

export interface Endpoint {
  readonly url: string
  /** What to call it in the client. */
  readonly name: string
  /** The key itself; where it is absent, something that stands for it. */
  readonly key: string | undefined
}

/** A program that speaks MCP, and how it is told of a server. */
export interface McpClient {
  readonly name: string
  /** Where its settings are; absent where there is no such place. */
  file?(): string
  /** The settings to add: objects are merged, and lists of things with an id. */
  settings(endpoint: Endpoint): Record<string, unknown>
  /** How it gets the key without having it in the file; absent where it must stand there. */
  readonly keyless?: string
  readonly next: string
}

const placeholder = 'sk_…'
const bearer = (key: string | undefined, otherwise = placeholder) => ({ Authorization: `Bearer ${key ?? otherwise}` })

const home = (...path: string[]) => join(homedir(), ...path)
const configHome = () => process.env.XDG_CONFIG_HOME || home('.config')

function desktopFile(): string {
  if (process.platform === 'darwin')
    return home('Library', 'Application Support', 'Claude', 'claude_desktop_config.json')
  const base = process.platform === 'win32' ? process.env.APPDATA || home('AppData', 'Roaming') : configHome()
  return join(base, 'Claude', 'claude_desktop_config.json')
}

const fromVariable = 'It reads the key from the variable QM_KEY of the environment that it is started in.'

export const mcpClients: readonly McpClient[] = [
  {
    name: 'claude-desktop',
    file: desktopFile,
    // Its settings name programs only; mcp-remote is the bridge to an address, and takes the header from its environment.
    settings: ({ name, url, key }) => ({
      mcpServers: {
        [name]: {
          command: 'npx',
          args: [
            ...['-y', 'mcp-remote', url, '--header', 'Authorization:${QM_AUTHORIZATION}'],
            ...(url.startsWith('http:') ? ['--allow-http'] : []),
          ],
          env: { QM_AUTHORIZATION: bearer(key).Authorization },
        },
      },
    }),
    next: 'Restart Claude Desktop.',
  },
  {
    name: 'claude-code',
    file: () => '.mcp.json',
    settings: ({ name, url, key }) => ({
      mcpServers: { [name]: { type: 'http', url, headers: bearer(key, '${QM_KEY}') } },
    }),
    keyless: fromVariable,
    next: 'Start claude in this folder, and /mcp shows it.',
  },
  {
    name: 'cursor',
    file: () => home('.cursor', 'mcp.json'),
    settings: ({ name, url, key }) => ({ mcpServers: { [name]: { url, headers: bearer(key, '${env:QM_KEY}') } } }),
    keyless: fromVariable,
    next: 'Restart Cursor.',
  },
  {
    name: 'vscode',
    file: () => join('.vscode', 'mcp.json'),
    settings: ({ name, url, key }) => ({
      servers: { [name]: { type: 'http', url, headers: bearer(key, '${input:quartermaster-key}') } },
      ...(key === undefined && {
        inputs: [
          { id: 'quartermaster-key', type: 'promptString', description: 'API key of Quartermaster', password: true },
        ],
      }),
    }),
    keyless: 'VS Code asks for the key once and keeps it safe.',
    next: 'Open this folder in VS Code and start the server in .vscode/mcp.json.',
  },
  {
    name: 'windsurf',
    file: () => home('.codeium', 'windsurf', 'mcp_config.json'),
    settings: ({ name, url, key }) => ({
      mcpServers: { [name]: { serverUrl: url, headers: bearer(key, '${env:QM_KEY}') } },
    }),
    keyless: fromVariable,
    next: 'Refresh the servers in Windsurf.',
  },
  {
    name: 'zed',
    file: () => join(configHome(), 'zed', 'settings.json'),
    settings: ({ name, url, key }) => ({ context_servers: { [name]: { url, headers: bearer(key) } } }),
    next: 'Zed sees it at once.',
  },
  {
    name: 'generic',
    settings: ({ name, url, key }) => ({ mcpServers: { [name]: { type: 'http', url, headers: bearer(key) } } }),
    next: 'Put it where your client keeps its mcpServers.',
  },
]
