import { mcpClients } from './commands/mcp-clients.ts'
import { commands } from './generated.ts'
import type { CustomCommand } from './toolkit/command.ts'
import { choicesIn, helpFlag, outputFlags, platformFlags } from './toolkit/flags.ts'

const connected = [...platformFlags, ...outputFlags]

/** The values that a field of an operation may have. */
const choicesOf = (operation: string, name: string): string[] => {
  const field = commands.find((one) => one.name === operation)?.fields.find((one) => one.name === name)
  return field ? choicesIn(field) : []
}

/** Operations are selected by their name. */
const nameOf = (field: string) => (field === 'operation' ? 'name' : field)

/** The hand-written commands, in the order of the help text. */
export const customCommands: readonly CustomCommand[] = [
  {
    name: 'up',
    summary: 'Start the platform',
    usage: ['[flags]'],
    flags: [],
    examples: ['up --port 4600'],
    load: async () => (await import('./commands/up.ts')).run,
  },
  {
    name: 'login',
    summary: 'Save the address of a platform and an API key',
    usage: ['[--profile <name>] [--url <url>] [--key <sk_…>]'],
    about:
      'Prompts for the key without showing it. Without a terminal, reads the key from standard input. The key is saved only if the platform accepts it.',
    flags: [
      {
        name: 'key',
        value: 'sk_…',
        help: 'API key to save, instead of the prompt. It stays in the history of your shell.',
      },
      { name: 'profile', value: 'name', help: 'Profile to save it in. Default: QM_PROFILE, or default.' },
      { name: 'url', value: 'url', help: 'Address of the platform. Default: QM_URL, or http://127.0.0.1:4600.' },
      ...outputFlags,
    ],
    examples: ['login', 'login --profile work --url https://tools.example.com < key.txt'],
    load: async () => (await import('./commands/login.ts')).login,
  },
  {
    name: 'logout',
    summary: 'Delete a saved API key',
    usage: ['[--profile <name>]'],
    flags: [{ name: 'profile', value: 'name', help: 'Profile to delete. Default: the current profile.' }, helpFlag],
    examples: ['logout --profile work'],
    load: async () => (await import('./commands/login.ts')).logout,
  },
  {
    name: 'profiles',
    summary: 'List the saved profiles, or change the current one',
    usage: ['', 'use <name>'],
    words: ['use'],
    flags: [...outputFlags],
    examples: ['profiles', 'profiles use work'],
    load: async () => (await import('./commands/login.ts')).profiles,
  },
  {
    name: 'whoami',
    summary: 'Show the platform, the API key and its permissions',
    usage: [''],
    replaces: ['get-current-api-key'],
    flags: connected,
    examples: ['whoami', 'whoami --profile work'],
    load: async () => (await import('./commands/login.ts')).whoami,
  },
  {
    name: 'call',
    summary: 'Call a tool, with its arguments as flags',
    usage: ['[--url <url>] [--key <sk_…>] <tool> [action] [--argument value …]'],
    replaces: ['call-tool'],
    about: `Arguments are flags: --order-id 7 sets order_id. A value may be @file, or - for standard input. On a terminal, prompts for missing arguments. Write --url, --key and --profile before the tool's name. If the call needs approval, prints a link and waits. "quartermaster call <tool> --help" shows the arguments of a tool.`,
    flags: [
      { name: 'input', value: 'json', help: 'All arguments as a JSON object. Other flags override its fields.' },
      { name: 'no-wait', help: 'If the call needs approval, exit with code 4. Repeat the call once it is approved.' },
      ...connected,
    ],
    examples: [
      'call get-weather --city Recife',
      `call crm create_contact --input '{"name":"Ada"}'`,
      'call --profile work get-weather --city -',
    ],
    load: async () => (await import('./commands/call.ts')).call,
    loadHelp: async () => (await import('./commands/call-help.ts')).describeCall,
  },
  {
    name: 'logs',
    summary: 'Show recent calls; --follow keeps watching',
    usage: ['[--follow] [filters]'],
    replaces: ['list-calls', 'stream-calls'],
    flags: [
      { name: 'follow', help: 'Keep showing new calls until you press Ctrl-C' },
      { name: 'limit', value: 'number', help: 'Number of recent calls to show first. Default: 20.' },
      { name: 'search', value: 'text', help: 'Only calls whose id, action, tool or error contains this text' },
      { name: 'tool', value: 'name', help: 'Only calls of this tool' },
      { name: 'app', value: 'slug', help: 'Only calls of this app' },
      { name: 'action', value: 'namespace:name', help: 'Only calls of this action' },
      {
        name: 'status',
        value: 'status',
        choices: choicesOf('list-calls', 'status'),
        help: 'Only calls with this status',
      },
      {
        name: 'surface',
        value: 'surface',
        choices: choicesOf('list-calls', 'surface'),
        help: 'Only calls through this interface',
      },
      ...connected,
    ],
    examples: [
      'logs',
      'logs --follow --tool get-weather',
      'logs --status execution_error --limit 5',
      'logs --search timeout',
    ],
    load: async () => (await import('./commands/logs.ts')).logs,
  },
  {
    name: 'approvals',
    summary: 'Approve or reject pending calls',
    usage: [
      '',
      'list [--status <status>]',
      'approve <id> [--reason <text>] [--input <json>]',
      'reject <id> [--reason <text>]',
    ],
    words: ['list', 'approve', 'reject'],
    replaces: ['list-approvals', 'approve-call', 'reject-call', 'stream-approvals'],
    about:
      'On a terminal, opens a live list. Select with the arrow keys, press a to approve, r to reject with a reason, Enter to see the arguments, q to quit.',
    flags: [
      { name: 'reason', value: 'text', help: 'Reason for the decision. The caller sees it.' },
      { name: 'input', value: 'json', help: 'Approve the call with these arguments instead. May be @file, or -.' },
      { name: 'field', value: 'name', help: 'Print only this field of the response, such as data.0.id' },
      {
        name: 'status',
        value: 'status',
        choices: choicesOf('list-approvals', 'status'),
        help: 'Status to list. Default: pending.',
      },
      ...connected,
    ],
    examples: ['approvals', 'approvals approve apr_…', `approvals reject apr_… --reason 'The amount is too high.'`],
    load: async () => (await import('./commands/approvals.ts')).approvals,
  },
  {
    name: 'chat',
    summary: 'Chat with an agent',
    usage: ['<agent> [message]'],
    about:
      'Without a message, starts a conversation on the terminal. Tool calls are shown as they run. For client tools, prompts for the output.',
    flags: connected,
    examples: ['chat support', `chat support 'Where is order 1042?'`],
    load: async () => (await import('./commands/chat.ts')).chat,
  },
  {
    name: 'connect',
    summary: 'Print or write the settings that connect an MCP client to a server',
    usage: ['<client> [--server <slug>] [--write] [--with-key]'],
    words: mcpClients.map(({ name }) => name),
    about: `Clients: ${mcpClients.map(({ name }) => name).join(', ')}. If the client can read the key from the environment or prompt for it, the settings contain no key.`,
    flags: [
      { name: 'server', value: 'slug', help: 'Server to connect to. Required if there are several.' },
      { name: 'write', help: 'Write the settings to the client’s file, keep a backup, and show the changes' },
      { name: 'file', value: 'path', help: 'File to write. Default: the usual settings file of the client.' },
      { name: 'name', value: 'name', help: 'Name of the server in the client. Default: the slug.' },
      { name: 'with-key', help: 'Include the API key in the settings' },
      { name: 'force', help: 'Include it even if it is an admin key' },
      ...connected,
    ],
    examples: ['connect claude-code --server support', 'connect cursor --server support --write'],
    load: async () => (await import('./commands/connect.ts')).connect,
  },
  {
    name: 'import',
    summary: 'Import an OpenAPI document, MCP servers or skills',
    usage: ['openapi <url|file> [--tag t] [--list]', 'mcp-servers <file>', 'skills <folder>'],
    words: ['openapi', 'mcp-servers', 'skills'],
    replaces: ['inspect-openapi', 'import-mcp-servers', 'import-skills'],
    about:
      'An OpenAPI document, by URL, as a file or from standard input (-), becomes a tool with one action for each operation. MCP servers are read from the mcpServers file of an editor or desktop assistant, or from standard input (-). Skills are read from all SKILL.md files in a folder and its subfolders.',
    flags: [
      { name: 'project-id', value: 'id', help: 'Project to import into' },
      { name: 'list', help: 'OpenAPI: only list the operations, with the size of their schemas' },
      { name: 'name', value: 'name', help: 'OpenAPI: name of the tool' },
      ...['tag', 'path', 'method', 'operation'].flatMap((field) => [
        {
          name: field,
          value: nameOf(field),
          repeats: true,
          help: `OpenAPI: only operations with this ${nameOf(field)}`,
        },
        {
          name: `exclude-${field}`,
          value: nameOf(field),
          repeats: true,
          help: `OpenAPI: no operations with this ${nameOf(field)}`,
        },
      ]),
      { name: 'server-url', value: 'url', help: 'OpenAPI: where requests go, instead of the server in the document' },
      { name: 'follow-references', help: 'OpenAPI: also fetch the documents that the one at the URL refers to' },
      { name: 'header', value: 'name=value', repeats: true, help: 'OpenAPI: header of every request' },
      { name: 'credential', value: 'scheme=value', repeats: true, help: 'OpenAPI: credential of a security scheme' },
      ...connected,
    ],
    examples: [
      'import openapi https://api.example.com/openapi.json --list',
      "import openapi ./openapi.yaml --tag orders --credential key='${{ secrets.SHOP_KEY }}'",
      'import mcp-servers ~/.cursor/mcp.json',
      'import skills ~/.claude/skills',
    ],
    load: async () => (await import('./commands/import.ts')).importFrom,
  },
  {
    name: 'export',
    summary: 'Export skills as SKILL.md files',
    usage: ['skills <folder> [--force]'],
    words: ['skills'],
    replaces: ['export-skill'],
    flags: [
      { name: 'force', help: 'Overwrite files that differ' },
      { name: 'project-id', value: 'id', help: 'Only the skills of this project' },
      ...connected,
    ],
    examples: ['export skills ./skills'],
    load: async () => (await import('./commands/import.ts')).exportTo,
  },
  {
    name: 'init',
    summary: 'Create a project file interactively',
    usage: ['[folder] [--yes] [--force]'],
    about: 'Writes quartermaster.yaml and .env.example.',
    flags: [
      { name: 'yes', help: 'Use the defaults without prompting' },
      { name: 'force', help: 'Overwrite existing files' },
      ...outputFlags,
    ],
    examples: ['init', 'init ./support --yes'],
    load: async () => (await import('./project/init.ts')).init,
  },
  {
    name: 'check',
    summary: 'Validate a project file or a manifest, without connecting to a platform',
    usage: ['[quartermaster.yaml]', '<manifest.yaml>'],
    about:
      'Validates against the schemas of the API. Prints problems as file:line: message, and exits with 1 if there are any.',
    flags: [...outputFlags],
    replaces: ['check-manifest'],
    examples: ['check', 'check projects/support.yaml --json', 'check car-desk.yaml'],
    load: async () => (await import('./project/check.ts')).check,
  },
  {
    name: 'apply',
    summary: 'Apply a project file or a manifest',
    replaces: ['apply-manifest'],
    usage: ['[quartermaster.yaml] [--dry-run] [--prune]', '<manifest.yaml>'],
    about:
      'Creates what is missing and updates what differs, matched by name: + is created, ~ is updated, - is deleted. Applying a file twice changes nothing the second time. Write secrets as ${NAME}: they are read from the environment or from a .env file next to the project file. Stored secrets are never returned, so only their last characters are compared.',
    flags: [
      { name: 'dry-run', help: 'Print the changes without making them' },
      { name: 'prune', help: 'Delete what is not in the file, in the sections that the file has' },
      { name: 'yes', help: 'Delete without asking for confirmation' },
      { name: 'project-id', value: 'id', help: 'Project to apply it to. Required if there are several.' },
      ...connected,
    ],
    examples: ['apply', 'apply quartermaster.yaml --dry-run', 'apply --prune --yes'],
    load: async () => (await import('./project/apply.ts')).apply,
  },
  {
    name: 'doctor',
    summary: 'Find problems with this machine and the platform, and how to fix them',
    usage: ['[flags]'],
    about:
      'Checks Node, the settings, the port, the data folder, the database, the secret key, the search model and the dashboard. With an API key, also checks the platform: its connection, clock, MCP servers, HTTP tools and API keys. Changes nothing. Exits with 1 if there are problems.',
    flags: [
      { name: 'port', value: 'port', help: 'Port of the platform. Default: QM_PORT, or 4600.' },
      { name: 'host', value: 'address', help: 'Address that the platform listens on. Default: QM_HOST, or 127.0.0.1.' },
      { name: 'data', value: 'folder', help: 'Data folder. Default: QM_DATA, or .quartermaster.' },
      ...connected,
    ],
    examples: ['doctor', 'doctor --url https://tools.example.com --json'],
    load: async () => (await import('./doctor/doctor.ts')).doctor,
  },
  {
    name: 'eval',
    summary: 'Measure how well a server finds the right actions for your queries',
    usage: ['resolve <queries.jsonl> --server-id <id or slug> [--url <url>] [--key <sk_…>]'],
    words: ['resolve'],
    about: `Each line of the file is {"query": "List contacts Salesforce", "relevant": ["salesforce/get_contacts"]}, where any of the relevant actions is correct. The file may be - for standard input. Prints how often a correct action came first (Hit@1) or in the first five (R@5), the ranking quality (NDCG@10), and the queries whose first action was wrong.`,
    flags: [{ name: 'server-id', value: 'id or slug', help: 'Server to measure' }, ...platformFlags, helpFlag],
    examples: ['eval resolve queries.jsonl --server-id support'],
    load: async () => (await import('./commands/eval.ts')).run,
  },
  {
    name: 'xml',
    summary: 'Run the use_mcp_tool blocks in the text of an assistant',
    usage: ['[--servers <slug,…>] [--run-fenced] [--json] < message.txt', '--prompt [--servers <slug,…>]'],
    about:
      'Reads the text from standard input, runs its blocks one after the other, and prints the results for the model. Exits with 1 if a block fails. With --prompt, prints the part of a system prompt that describes your servers and tools.',
    flags: [
      { name: 'servers', value: 'slug,…', help: 'Servers that blocks can name. Default: all you can use.' },
      { name: 'run-fenced', help: 'Also run blocks inside code fences' },
      { name: 'prompt', help: 'Print the tool section of a system prompt' },
      { name: 'json', help: 'Print the results as JSON' },
      ...platformFlags,
      helpFlag,
    ],
    examples: ['xml < message.txt', 'xml --prompt --servers support'],
    load: async () => (await import('./commands/xml.ts')).run,
  },
  {
    name: 'rehearse',
    summary: 'Show what a changed manifest would change in recorded sessions',
    usage: ['<manifest.yaml> [--sessions last:<number>|<id>,…]'],
    replaces: ['rehearse-manifest'],
    about:
      'Plays the latest sessions of the agent again, under the changed manifest, and prints which policies, nodes, calls and replies would differ, and what it cost. Answers of the model whose prompt is unchanged are reused. No tool is called, and nothing is changed.',
    flags: [
      { name: 'sessions', value: 'which', help: 'last:<number>, or ids of sessions with commas. Default: last:200.' },
      { name: 'project-id', value: 'id', help: 'Project of the agent. Required if there are several.' },
      ...connected,
    ],
    examples: ['rehearse car-desk.yaml', 'rehearse car-desk.yaml --sessions last:50 --json'],
    load: async () => (await import('./commands/rehearse.ts')).rehearse,
  },
  {
    name: 'test',
    summary: 'Run scenarios: tests of an agent with scripted answers of the model',
    usage: ['<scenario.yaml> …'],
    about:
      'Each scenario starts a platform of its own in a temporary folder, applies a manifest, and plays the turns of a session. It fails if something else happens than expected, if the model is asked more often than the scenario answers, or less. See docs/guides/guided-agents.md for the format.',
    flags: [...outputFlags],
    examples: ['test scenarios/*.yaml', 'test scenarios/authenticate.yaml --json'],
    load: async () => (await import('./commands/test.ts')).test,
  },
  {
    name: 'replay',
    summary: 'Serve a scripted language model, for testing agents',
    usage: ['<script.yaml> [--port <port>]'],
    about: `Serves the API of OpenAI (/v1/chat/completions, /v1/models), Anthropic (/v1/messages) and Google (:generateContent), with and without streaming. The file may be - for standard input. See docs/guides/replay.md for the format of scripts.`,
    flags: [{ name: 'port', value: 'port', help: 'Port to listen on; 0 chooses a free one. Default: 4610.' }, helpFlag],
    examples: ['replay script.yaml --port 4610'],
    load: async () => (await import('./commands/replay.ts')).run,
  },
  {
    name: 'completion',
    summary: 'Print a completion script for your shell',
    usage: ['bash|zsh|fish'],
    words: ['bash', 'zsh', 'fish'],
    flags: [helpFlag],
    examples: ['completion bash >> ~/.bashrc', 'completion fish > ~/.config/fish/completions/quartermaster.fish'],
    load: async () => (await import('./toolkit/shells.ts')).completion,
  },
]

const replaced = new Map(
  customCommands.flatMap(({ name, replaces = [] }) => replaces.map((one) => [one, name] as const)),
)

/** The hand-written command that does the same as a generated one. */
export const replacementOf = (name: string): string | undefined => replaced.get(name)

/** The generated commands without those that a hand-written command replaces. */
export const shownCommands = commands.filter(({ name }) => !replaced.has(name))
