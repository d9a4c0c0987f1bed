import type { OwnCommand } from './toolkit/command.ts'
import { outputFlags, platformFlags } from './toolkit/flags.ts'

const asking = [...platformFlags, ...outputFlags]
const [, , helpFlag] = outputFlags
const help = helpFlag ? [helpFlag] : []

const statuses = ['pending', 'success', 'validation_error', 'permission_denied', 'rejected', 'execution_error']
const surfaces = ['rest', 'mcp', 'cli', 'sdk', 'agent', 'web']
const approvalStatuses = ['pending', 'approved', 'rejected', 'expired', 'cancelled', 'used']

/** The commands for people, as help lists them. */
export const ownCommands: readonly OwnCommand[] = [
  {
    name: 'up',
    summary: 'Run the platform',
    usage: ['[flags]'],
    flags: [],
    examples: ['up --port 4600'],
    load: async () => (await import('./commands/up.ts')).run,
  },
  {
    name: 'login',
    summary: 'Save where a platform is and the key to speak with',
    usage: ['[--profile <name>] [--url <url>]'],
    about:
      'The key is asked for and not shown; where nobody can be asked it is read from standard input. It is tried before it is saved.',
    flags: [
      { name: 'profile', value: 'name', help: 'The name to save it under. Default default.' },
      { name: 'url', value: 'url', help: 'Where the platform is; else QM_URL, else http://127.0.0.1:4600' },
      ...outputFlags,
    ],
    examples: ['login', 'login --profile work --url https://tools.example.com < key.txt'],
    load: async () => (await import('./commands/login.ts')).login,
  },
  {
    name: 'logout',
    summary: 'Forget a saved key',
    usage: ['[--profile <name>]'],
    flags: [{ name: 'profile', value: 'name', help: 'Which one; the current one unless given' }, ...help],
    examples: ['logout --profile work'],
    load: async () => (await import('./commands/login.ts')).logout,
  },
  {
    name: 'profiles',
    summary: 'List the saved platforms, or choose which one is used',
    usage: ['', 'use <name>'],
    words: ['use'],
    flags: [...outputFlags],
    examples: ['profiles', 'profiles use work'],
    load: async () => (await import('./commands/login.ts')).profiles,
  },
  {
    name: 'whoami',
    summary: 'See who you are: which platform, which key, and what it may do',
    usage: [''],
    flags: asking,
    examples: ['whoami', 'whoami --profile work'],
    load: async () => (await import('./commands/login.ts')).whoami,
  },
  {
    name: 'call',
    summary: 'Call a tool by its name, with its arguments as flags',
    usage: ['[--url <url>] [--key <sk_…>] <tool> [action] [--argument value …]'],
    about: `Arguments are flags: --order-id 7 is order_id, and a value may be @file or - for standard input. On a terminal you are asked for what is missing. Flags that say which platform to ask go before the tool's name. Where a person must approve the call, it says where, and waits.`,
    flags: [
      { name: 'input', value: 'json', help: 'All arguments at once; other flags are laid over it' },
      { name: 'no-wait', help: 'Where a person must approve, end with exit code 4; the same call again goes on' },
      ...asking,
    ],
    examples: [
      'call get-weather --city Recife',
      `call crm create_contact --input '{"name":"Ada"}'`,
      'call --profile work get-weather --city -',
    ],
    load: async () => (await import('./commands/call.ts')).call,
  },
  {
    name: 'logs',
    summary: 'See the latest calls, and with --follow those to come',
    usage: ['[--follow] [filters]'],
    flags: [
      { name: 'follow', help: 'Go on as calls end, until Ctrl-C' },
      { name: 'limit', value: 'number', help: 'How many of the latest to show first. Default 20.' },
      { name: 'search', value: 'text', help: 'Only calls with these words in their id, action, tool or error' },
      { name: 'tool', value: 'name', help: 'Only calls of this tool' },
      { name: 'app', value: 'slug', help: 'Only calls of this app' },
      { name: 'action', value: 'namespace:name', help: 'Only calls of this action' },
      { name: 'status', value: 'status', choices: statuses, help: 'Only calls that ended so' },
      { name: 'surface', value: 'surface', choices: surfaces, help: 'Only calls that came this way' },
      ...asking,
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
    summary: 'Decide on the calls that wait for a person',
    usage: ['', 'list [--status <status>]', 'approve <id> [--reason <text>]', 'reject <id> [--reason <text>]'],
    words: ['list', 'approve', 'reject'],
    about:
      'On a terminal, a live list: choose with the arrow keys, a approves, r rejects with a reason, enter shows the arguments, q ends.',
    flags: [
      { name: 'reason', value: 'text', help: 'Told to whoever asked' },
      { name: 'status', value: 'status', choices: approvalStatuses, help: 'Which to list. Default pending.' },
      ...asking,
    ],
    examples: ['approvals', 'approvals approve apr_…', `approvals reject apr_… --reason 'The amount is too high.'`],
    load: async () => (await import('./commands/approvals.ts')).approvals,
  },
  {
    name: 'chat',
    summary: 'Talk with an agent',
    usage: ['<agent> [message]'],
    about:
      'Without a message, a conversation on the terminal. Calls are shown as they are made; you are asked for what tools of your own answer.',
    flags: asking,
    examples: ['chat support', `chat support 'Where is order 1042?'`],
    load: async () => (await import('./commands/chat.ts')).chat,
  },
  {
    name: 'connect',
    summary: 'Print or write the settings with which an MCP client uses a server',
    usage: ['<client> [--server <slug>] [--write] [--with-key]'],
    words: ['claude-desktop', 'claude-code', 'cursor', 'vscode', 'windsurf', 'zed', 'generic'],
    about:
      'Clients: claude-desktop, claude-code, cursor, vscode, windsurf, zed, generic. Where a client can read the key from its environment or ask for it, the settings hold no key.',
    flags: [
      { name: 'server', value: 'slug', help: 'Which server; the only one unless given' },
      {
        name: 'write',
        help: 'Write it where the client looks, keep a copy of what was there, and show the difference',
      },
      { name: 'file', value: 'path', help: 'Another file than the one that the client usually has' },
      { name: 'name', value: 'name', help: 'What the client calls it; the slug unless given' },
      { name: 'with-key', help: 'Put the API key itself into the settings' },
      ...asking,
    ],
    examples: ['connect claude-code --server support', 'connect cursor --server support --write'],
    load: async () => (await import('./commands/connect.ts')).connect,
  },
  {
    name: 'import',
    summary: 'Take over MCP servers or skills from files of other programs',
    usage: ['mcp-servers <file>', 'skills <folder>'],
    words: ['mcp-servers', 'skills'],
    about:
      'MCP servers come from an mcpServers file, as editors and desktop assistants keep it; - is standard input. Skills come from every SKILL.md below a folder.',
    flags: [{ name: 'project-id', value: 'id', help: 'The project to put them in' }, ...asking],
    examples: ['import mcp-servers ~/.cursor/mcp.json', 'import skills ~/.claude/skills'],
    load: async () => (await import('./commands/import.ts')).importFrom,
  },
  {
    name: 'export',
    summary: 'Write skills as SKILL.md files',
    usage: ['skills <folder> [--force]'],
    words: ['skills'],
    flags: [
      { name: 'force', help: 'Replace files that are there and differ' },
      { name: 'project-id', value: 'id', help: 'Only those of this project' },
      ...asking,
    ],
    examples: ['export skills ./skills'],
    load: async () => (await import('./commands/import.ts')).exportTo,
  },
  {
    name: 'init',
    summary: 'Begin a project file, by a few questions',
    usage: ['[folder] [--yes] [--force]'],
    about: 'Writes quartermaster.yaml and .env.example.',
    flags: [
      { name: 'yes', help: 'Ask nothing; take the usual answers' },
      { name: 'force', help: 'Replace files that are there' },
      ...outputFlags,
    ],
    examples: ['init', 'init ./support --yes'],
    load: async () => (await import('./project/init.ts')).init,
  },
  {
    name: 'check',
    summary: 'Check a project file, without asking a platform',
    usage: ['[quartermaster.yaml]'],
    about: 'The schemas are those of the operations. Prints what is wrong as file:line: words, and exits with 1.',
    flags: [...outputFlags],
    examples: ['check', 'check projects/support.yaml --json'],
    load: async () => (await import('./project/check.ts')).check,
  },
  {
    name: 'apply',
    summary: 'Make the platform as a project file says',
    usage: ['[quartermaster.yaml] [--dry-run] [--prune]'],
    about:
      'Creates what is not there and updates what differs, by name: + is new, ~ changes, - goes. Applied twice, the second time changes nothing. Secrets stand in the file as ${NAME}, from the environment or a .env file beside it; of those already kept only the ending is known, and compared.',
    flags: [
      { name: 'dry-run', help: 'Only print what would change' },
      { name: 'prune', help: 'Delete what the file leaves out, of the sections that it has' },
      { name: 'yes', help: 'Delete without asking' },
      { name: 'project-id', value: 'id', help: 'The project; needed where there are several' },
      ...asking,
    ],
    examples: ['apply', 'apply quartermaster.yaml --dry-run', 'apply --prune --yes'],
    load: async () => (await import('./project/apply.ts')).apply,
  },
  {
    name: 'doctor',
    summary: 'Find what is wrong with this machine and the platform, and what to do',
    usage: ['[flags]'],
    about:
      'Looks at Node, the settings, the port, the data folder, the database, the secret key, the model that searches and the dashboard; and, with a key, at the platform: whether it answers, its clock, its MCP servers, what its http tools may call, and its keys. Changes nothing. Exits with 1 if anything is wrong.',
    flags: [
      { name: 'port', value: 'port', help: 'Where the platform listens, or is to; else QM_PORT' },
      { name: 'host', value: 'address', help: 'The address it listens on; else QM_HOST' },
      { name: 'data', value: 'folder', help: 'Its data folder; else QM_DATA' },
      ...asking,
    ],
    examples: ['doctor', 'doctor --url https://tools.example.com --json'],
    load: async () => (await import('./doctor/doctor.ts')).doctor,
  },
  {
    name: 'eval',
    summary: 'Measure how well a server finds the right actions for your own requests',
    usage: ['resolve <queries.jsonl> --server-id <id or slug> [--url <url>] [--key <sk_…>]'],
    words: ['resolve'],
    about: `Each line of the file is {"query": "List contacts Salesforce", "relevant": ["salesforce/get_contacts"]}: any of those named is right. The file may be - for standard input. Prints how often the right action came first (Hit@1) and among the first five (R@5), and how far up it was (NDCG@10), then the requests whose first action was wrong.`,
    flags: [{ name: 'server-id', value: 'id or slug', help: 'The server to measure' }, ...platformFlags, ...help],
    examples: ['eval resolve queries.jsonl --server-id support'],
    load: async () => (await import('./commands/eval.ts')).run,
  },
  {
    name: 'replay',
    summary: 'Serve a script as a language model, to test agents with',
    usage: ['<script.yaml> [--port <port>]'],
    about: `Serves a script for tests of agents and of anything else that asks a model: as OpenAI's /v1/chat/completions and /v1/models, Anthropic's /v1/messages, and Google's :generateContent, streaming and not. The file may be - for standard input. docs/guides/replay.md says how scripts are written.`,
    flags: [{ name: 'port', value: 'port', help: 'Where to listen; 0 takes a free one. Default 4610.' }, ...help],
    examples: ['replay script.yaml --port 4610'],
    load: async () => (await import('./commands/replay.ts')).run,
  },
  {
    name: 'completion',
    summary: 'Print what lets your shell complete commands, flags and names',
    usage: ['bash|zsh|fish'],
    words: ['bash', 'zsh', 'fish'],
    flags: [...help],
    examples: ['completion bash >> ~/.bashrc', 'completion fish > ~/.config/fish/completions/quartermaster.fish'],
    load: async () => (await import('./toolkit/shells.ts')).completion,
  },
]
