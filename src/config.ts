import { isIP } from 'node:net'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { createAddressRules } from './http/addresses.ts'
import { didYouMean, unquoted } from './lib/nearest.ts'
import { StartError } from './model/start-error.ts'

/** A setting that was not given as it must be. */
export class SettingError extends StartError {}

const between = (least: number, most: number, kind: string) => {
  const error = `must be ${kind} from ${least} to ${most}`
  return { error, number: z.coerce.number(error).min(least, error).max(most, error) }
}
const amount = (least: number, most: number) => between(least, most, 'a number').number
const whole = (least: number, most: number) => {
  const { number, error } = between(least, most, 'a whole number')
  return number.int(error)
}
const yesOrNo = z.stringbool({ error: 'must be true or false' })
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
)
const ranges = list.superRefine((allow, context) => {
  try {
    createAddressRules({ allowLoopback: false, allow })
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message.replace(/\.$/, '') })
  }
})

/** The address of an HTTP proxy; as is usual, `http://` may be left out. */
const proxy = z
  .string()
  .transform((text) => (text.includes('://') ? text : `http://${text}`))
  .refine(
    (text) => /^https?:/i.test(text) && URL.canParse(text),
    'must be the address of an HTTP proxy, like http://proxy.example.com:3128',
  )
  .optional()

const secretKey = z
  .string()
  .min(16, 'must be 32 bytes in base64 or hex, or a passphrase of at least 16 characters')
  .optional()

/** Every setting: where it comes from, what it is when it is not given, and what it is for. */
const settings = {
  port: {
    flag: 'port',
    variable: 'QM_PORT',
    schema: whole(0, 65535).default(4600),
    help: 'Port to listen on; 0 takes a free one',
  },
  host: {
    flag: 'host',
    variable: 'QM_HOST',
    schema: z.string().min(1).default('127.0.0.1'),
    help: 'Address to listen on',
  },
  data: { flag: 'data', variable: 'QM_DATA', schema: z.string().min(1).default('.quartermaster'), help: 'Data folder' },
  sample: {
    flag: 'sample',
    isSwitch: true,
    variable: 'QM_SAMPLE',
    schema: yesOrNo.default(false),
    help: 'Whether an empty platform is filled with a sample project to look at; npm start does, unless --no-sample',
  },
  adminKey: {
    variable: 'QM_ADMIN_KEY',
    schema: z.string().min(1).optional(),
    help: 'The first admin key; without it one is made and printed once',
  },
  secretKey: {
    variable: 'QM_SECRET_KEY',
    schema: secretKey,
    help: 'What secrets are sealed with: 32 bytes in base64 or hex, or a passphrase of at least 16 characters; without it, a key file is made in the data folder. Processes that share a database need the same',
  },
  previousSecretKey: {
    variable: 'QM_SECRET_KEY_PREVIOUS',
    schema: secretKey,
    help: 'The secret key before, where it was changed: what it has sealed is sealed anew with QM_SECRET_KEY at the start, and it can be taken away afterwards',
  },
  databaseUrl: {
    variable: 'DATABASE_URL',
    schema: z
      .string()
      .regex(
        /^postgres(ql)?:\/\//i,
        'only PostgreSQL is understood, at an address like postgres://user:password@host:5432/database; without one, SQLite in the data folder is used',
      )
      .optional(),
    help: 'PostgreSQL address; without it, SQLite in the data folder',
  },
  syncCalls: {
    variable: 'QM_SYNC_CALLS',
    schema: yesOrNo.default(false),
    help: 'Whether an effect waits until its record would survive a power cut, too; PostgreSQL has its own setting',
  },
  callRetentionDays: {
    variable: 'QM_CALL_RETENTION_DAYS',
    schema: whole(0, 36_500).default(0),
    help: 'How many days the record of a call is kept, with the decision on it; 0 keeps it for good. Older ones are deleted every hour',
  },
  logLevel: {
    variable: 'QM_LOG_LEVEL',
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
    help: 'How much to log',
  },
  bodyLimit: {
    variable: 'QM_BODY_LIMIT',
    schema: whole(1024, 1e9).default(4 * 1024 * 1024),
    help: 'Largest JSON body taken, in bytes',
  },
  fileLimit: {
    variable: 'QM_FILE_LIMIT',
    schema: whole(1024, 1e12).default(100 * 1024 * 1024),
    help: 'Largest file kept, in bytes',
  },
  responseLimit: {
    variable: 'QM_RESPONSE_LIMIT',
    schema: whole(1024, 1e9).default(10 * 1024 * 1024),
    help: 'Largest answer taken from a tool, in bytes',
  },
  rateLimit: {
    variable: 'QM_RATE_LIMIT',
    schema: whole(0, 1e9).default(60_000),
    help: 'Requests a minute for keys that have no limit of their own; 0 is no limit',
  },
  egressAllow: {
    variable: 'QM_EGRESS_ALLOW',
    schema: ranges.default([]),
    help: 'Addresses that tools may call though they are not public: ranges such as 10.0.0.0/8, or "private"',
  },
  httpProxy: {
    variable: 'HTTP_PROXY',
    inLowerCase: true,
    schema: proxy,
    help: 'The proxy for requests to http addresses; see docs/guides/egress.md. http_proxy works too, and wins',
  },
  httpsProxy: {
    variable: 'HTTPS_PROXY',
    inLowerCase: true,
    schema: proxy,
    help: 'The proxy for requests to https addresses; https_proxy works too, and wins',
  },
  noProxy: {
    variable: 'NO_PROXY',
    inLowerCase: true,
    schema: z.string().optional(),
    help: 'Hosts that are called directly, separated by commas: names, which cover their subdomains, addresses, ranges, or "*"; no_proxy works too, and wins',
  },
  allowStdio: {
    variable: 'QM_ALLOW_STDIO',
    schema: yesOrNo.default(false),
    help: 'Whether tools may start MCP servers as programs of this machine',
  },
  ignoreRequired: {
    flag: 'ignore-required',
    isSwitch: true,
    variable: 'QM_IGNORE_REQUIRED',
    schema: yesOrNo.default(false),
    help: 'Whether to start though an MCP server that a tool requires may be out of reach',
  },
  embeddings: {
    variable: 'QM_EMBEDDINGS',
    schema: z.enum(['embedded', 'off']).default('embedded'),
    help: 'Whether actions are searched by meaning with the model that is built in, or by words alone; see also QM_EMBEDDINGS_URL',
  },
  embeddingsFolder: {
    variable: 'QM_EMBEDDINGS_FOLDER',
    schema: z.string().min(1).optional(),
    help: 'Where the files of the built-in model are; without it, in the installed package',
  },
  embeddingsUrl: {
    variable: 'QM_EMBEDDINGS_URL',
    schema: z
      .string()
      .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https address')
      .optional(),
    help: 'An OpenAI-compatible API, such as https://api.openai.com/v1, whose embeddings are used instead of the built-in model’s',
  },
  embeddingsModel: {
    variable: 'QM_EMBEDDINGS_MODEL',
    schema: z.string().min(1).default('text-embedding-3-small'),
    help: 'The model to ask for at QM_EMBEDDINGS_URL',
  },
  embeddingsKey: {
    variable: 'QM_EMBEDDINGS_KEY',
    schema: z.string().min(1).optional(),
    help: 'The key to send to QM_EMBEDDINGS_URL',
  },
  approvalSeconds: {
    variable: 'QM_APPROVAL_SECONDS',
    schema: amount(1, 604_800).default(300),
    help: 'How long a human may take to approve a call, unless a rule, the tool or the server says; then it is rejected',
  },
  pendingApprovals: {
    variable: 'QM_PENDING_APPROVALS',
    schema: whole(1, 1_000_000).default(500),
    help: 'How many calls of one key may wait for approval at once; further ones are refused until some are decided',
  },
  outputSeconds: {
    variable: 'QM_OUTPUT_SECONDS',
    schema: amount(1, 2_592_000).default(86_400),
    help: 'How long a run waits for the outputs of its caller’s own tools; then it fails',
  },
  publicUrl: {
    variable: 'QM_PUBLIC_URL',
    schema: z
      .string()
      .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https address')
      .optional(),
    help: 'Where people reach the platform, for links; without it, where the caller does',
  },
  drainSeconds: {
    variable: 'QM_DRAIN_SECONDS',
    schema: whole(0, 3600).default(25),
    help: 'How long calls in flight may take to finish when the platform is told to stop',
  },
} as const satisfies Record<
  string,
  { flag?: string; isSwitch?: true; variable: string; inLowerCase?: true; schema: z.ZodType; help: string }
>

type Settings = { readonly [Name in keyof typeof settings]: z.infer<(typeof settings)[Name]['schema']> }

export interface Config extends Settings {
  /** Whether only this machine can reach the platform; then its tools may reach this machine, too. */
  readonly onLoopback: boolean
}

/** For help and for docs/reference/config.md. */
export const describeSettings = (): { flag: string; variable: string; default: string; help: string }[] =>
  Object.values(settings).map((setting) => {
    const fallback = setting.schema.safeParse(undefined)
    return {
      flag: 'flag' in setting ? `--${setting.flag}` : '',
      variable: setting.variable,
      default: fallback.success && fallback.data !== undefined ? String(fallback.data) : '',
      help: setting.help,
    }
  })

/** Flags win over the environment. */
export function readConfig(
  flags: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Config {
  const given = readFlags(flags)
  const config: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(settings)) {
    const flag = 'flag' in setting ? given[setting.flag] : undefined
    // An empty variable is one that was not set.
    const lower = 'inLowerCase' in setting ? environment[setting.variable.toLowerCase()] : undefined
    const value = flag ?? (lower || environment[setting.variable] || undefined)
    const result = setting.schema.safeParse(value)
    if (!result.success) {
      const source = flag === undefined ? setting.variable : `--${'flag' in setting ? setting.flag : ''}`
      const faults = new Set(result.error.issues.map(({ message }) => message))
      throw new SettingError(`${source}: ${[...faults].join('; ')}.`)
    }
    config[name] = result.data
  }
  return Object.freeze({ ...(config as Settings), onLoopback: isLoopback(config.host as string) })
}

/** What to say of a platform that other machines reach without TLS: then API keys travel for all to read. */
export function describeExposure({ onLoopback, host, publicUrl }: Config): string | undefined {
  if (onLoopback || publicUrl?.toLowerCase().startsWith('https:')) return undefined
  return `Listening on ${host} without TLS: other machines can reach the platform, only API keys protect it, and they are sent unencrypted. Put a proxy with TLS in front and set QM_PUBLIC_URL to its https address, or listen on 127.0.0.1.`
}

/** Variables that the command line and what it writes for clients read. */
const otherVariables = ['QM_URL', 'QM_KEY', 'QM_PROFILE', 'QM_AUTHORIZATION']

/** What to say of variables that look like settings and are none. */
export function describeUnknown(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = [...Object.values(settings).map(({ variable }) => variable), ...otherVariables]
  return Object.keys(environment)
    .filter((name) => name.startsWith('QM_') && !(known as string[]).includes(name))
    .map((name) => {
      const hint = didYouMean(name, known, unquoted) || ' "quartermaster up --help" lists them.'
      return `${name} is set, but there is no such setting, so it does nothing.${hint}`
    })
}

function readFlags(flags: readonly string[]): Record<string, string | undefined> {
  const options = Object.fromEntries(
    Object.values(settings).flatMap((setting) =>
      'flag' in setting
        ? [[setting.flag, { type: 'isSwitch' in setting ? ('boolean' as const) : ('string' as const) }]]
        : [],
    ),
  )
  try {
    const { values } = parseArgs({ args: [...flags], options, strict: true, allowNegative: true })
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
    )
  } catch (error) {
    throw new SettingError(explained(error as Error & { code?: string }, Object.keys(options)))
  }
}

/** What Node says of wrong flags, in the words of the other commands. */
function explained({ code, message }: Error & { code?: string }, known: readonly string[]): string {
  const [, dashes = '', name = ''] = /'(-*)([^'\s=]*)/.exec(message) ?? []
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') return `"${name}" is more than was expected.`
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    return message.includes('does not take an argument') ? `--${name} takes no value.` : `--${name} needs a value.`
  }
  return `There is no flag ${dashes}${name} here.${didYouMean(name, known, (flag) => `--${flag}`)}`
}

const isLoopback = (host: string) =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
