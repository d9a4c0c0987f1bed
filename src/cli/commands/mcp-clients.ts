import { homedir } from 'node:os'
import { join } from 'node:path'
import { io } from '../toolkit/io.ts'

export interface Endpoint {
  readonly url: string
  /** The name of the server in the client. */
  readonly name: string
  /** The API key, or `undefined` for a placeholder. */
  readonly key: string | undefined
}

/** An MCP client and the format of its settings. */
export interface McpClient {
  readonly name: string
  /** The path of its settings file, if it has a usual one. */
  file?(): string
  /** The settings to add. Objects are merged, and so are lists whose entries have ids. */
  settings(endpoint: Endpoint): Record<string, unknown>
  /** How the client gets the key if it is not in the file. Absent if the key must be in the file. */
  readonly keyless?: string
  readonly next: string
}

const placeholder = 'sk_…'
const bearer = (key: string | undefined, otherwise = placeholder) => ({ Authorization: `Bearer ${key ?? otherwise}` })

const home = (...path: string[]) => join(homedir(), ...path)
const configHome = () => io().env.XDG_CONFIG_HOME || home('.config')

function desktopFile(): string {
  if (process.platform === 'darwin')
    return home('Library', 'Application Support', 'Claude', 'claude_desktop_config.json')
  const base = process.platform === 'win32' ? io().env.APPDATA || home('AppData', 'Roaming') : configHome()
  return join(base, 'Claude', 'claude_desktop_config.json')
}

const fromVariable =
  'The client reads the API key from the environment variable QM_KEY. Set it before you start the client.'

export const mcpClients: readonly McpClient[] = [
  {
    name: 'claude-desktop',
    file: desktopFile,
    // Claude Desktop starts programs only. mcp-remote connects to a URL and reads the header from its environment.
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
    next: 'Start claude in this folder. /mcp shows the server.',
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
          { id: 'quartermaster-key', type: 'promptString', description: 'Quartermaster API key', password: true },
        ],
      }),
    }),
    keyless: 'VS Code prompts for the API key once and stores it securely.',
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
    next: 'Zed loads the settings immediately.',
  },
  {
    name: 'generic',
    settings: ({ name, url, key }) => ({ mcpServers: { [name]: { type: 'http', url, headers: bearer(key) } } }),
    next: 'Add it to the mcpServers section of your client’s settings.',
  },
]
