import type { OwnCommand } from './command.ts'
import { outputFlags, platformFlags } from './flags.ts'

const asking = [...platformFlags, ...outputFlags]
const [, , helpFlag] = outputFlags
const help = helpFlag ? [helpFlag] : []

/** The commands for people, as help lists them. */
export const ownCommands: readonly OwnCommand[] = [
  {
    name: 'up',
    summary: 'Run the platform',
    usage: ['[flags]'],
    flags: [],
    examples: ['up --port 4600'],
    load: async () => (await import('./up.ts')).run,
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
    load: async () => (await import('./login.ts')).login,
  },
  {
    name: 'logout',
    summary: 'Forget a saved key',
    usage: ['[--profile <name>]'],
    flags: [{ name: 'profile', value: 'name', help: 'Which one; the current one unless given' }, ...help],
    examples: ['logout --profile work'],
    load: async () => (await import('./login.ts')).logout,
  },
  {
    name: 'profiles',
    summary: 'List the saved platforms, or choose which one is used',
    usage: ['', 'use <name>'],
    words: ['use'],
    flags: [...outputFlags],
    examples: ['profiles', 'profiles use work'],
    load: async () => (await import('./login.ts')).profiles,
  },
  {
    name: 'whoami',
    summary: 'See which platform is asked, and whether it knows the key',
    usage: [''],
    flags: asking,
    examples: ['whoami', 'whoami --profile work'],
    load: async () => (await import('./login.ts')).whoami,
  },
  {
    name: 'eval',
    summary: 'Measure how well a server finds the right actions for your own requests',
    usage: ['resolve <queries.jsonl> --server-id <id or slug> [--url <url>] [--key <sk_…>]'],
    words: ['resolve'],
    about: `Each line of the file is {"query": "List contacts Salesforce", "relevant": ["salesforce/get_contacts"]}: any of those named is right. The file may be - for standard input. Prints how often the right action came first (Hit@1) and among the first five (R@5), and how far up it was (NDCG@10), then the requests whose first action was wrong.`,
    flags: [{ name: 'server-id', value: 'id or slug', help: 'The server to measure' }, ...platformFlags, ...help],
    examples: ['eval resolve queries.jsonl --server-id support'],
    load: async () => (await import('./eval.ts')).run,
  },
  {
    name: 'replay',
    summary: 'Serve a script as a language model, to test agents with',
    usage: ['<script.yaml> [--port <port>]'],
    about: `Serves a script for tests of agents and of anything else that asks a model: as OpenAI's /v1/chat/completions and /v1/models, Anthropic's /v1/messages, and Google's :generateContent, streaming and not. The file may be - for standard input. docs/guides/replay.md says how scripts are written.`,
    flags: [{ name: 'port', value: 'port', help: 'Where to listen; 0 takes a free one. Default 4610.' }, ...help],
    examples: ['replay script.yaml --port 4610'],
    load: async () => (await import('./replay.ts')).run,
  },
]
