import { isIP } from 'node:net'
import { z } from 'zod'
import { createAddressRules } from './http/addresses.ts'
import { didYouMean, unquoted } from './lib/nearest.ts'
import { StartError } from './model/start-error.ts'

/** A setting has an invalid value. */
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

/** The URL of an HTTP proxy. As is common, `http://` may be omitted. */
const proxy = z
  .string()
  .transform((text) => (text.includes('://') ? text : `http://${text}`))
  .refine(
    (text) => /^https?:/i.test(text) && URL.canParse(text),
    'must be the URL of an HTTP proxy, such as http://proxy.example.com:3128',
  )
  .optional()

const secretKey = z
  .string()
  .min(16, 'must be 32 bytes in base64 or hex, or a passphrase of at least 16 characters')
  .optional()

/** All settings, with their source, default and help text. */
const settings = {
  port: {
    flag: 'port',
    variable: 'QM_PORT',
    schema: whole(0, 65535).default(4600),
    help: 'Port to listen on; 0 picks a free port',
  },
  host: {
    flag: 'host',
    variable: 'QM_HOST',
    schema: z.string().min(1).default('127.0.0.1'),
    help: 'Address to listen on',
  },
  data: { flag: 'data', variable: 'QM_DATA', schema: z.string().min(1).default('.quartermaster'), help: 'Data folder' },
  manifest: {
    flag: 'manifest',
    repeats: true,
    variable: 'QM_MANIFEST',
    schema: list.default([]),
    help: 'Manifest of an agent, applied at startup; the platform does not start if it has errors or one of its MCP servers is unreachable. Separate several with commas, or repeat the flag. SIGHUP applies them again',
  },
  sample: {
    flag: 'sample',
    isSwitch: true,
    variable: 'QM_SAMPLE',
    schema: yesOrNo.default(false),
    help: 'Create a sample project if the platform is empty; npm start does so unless you pass --no-sample',
  },
  adminKey: {
    variable: 'QM_ADMIN_KEY',
    schema: z.string().min(1).optional(),
    help: 'The first admin key; by default, one is generated and printed once',
  },
  secretKey: {
    variable: 'QM_SECRET_KEY',
    schema: secretKey,
    help: 'Key that encrypts secrets: 32 bytes in base64 or hex, or a passphrase of at least 16 characters; by default, a key file is created in the data folder. Processes that share a database need the same key',
  },
  previousSecretKey: {
    variable: 'QM_SECRET_KEY_PREVIOUS',
    schema: secretKey,
    help: 'The old secret key, during a rotation: at startup, secrets are re-encrypted with QM_SECRET_KEY. Remove it afterwards',
  },
  databaseUrl: {
    variable: 'DATABASE_URL',
    schema: z
      .string()
      .regex(
        /^postgres(ql)?:\/\//i,
        'must be a PostgreSQL URL such as postgres://user:password@host:5432/database; leave it out to use SQLite in the data folder',
      )
      .optional(),
    help: 'PostgreSQL URL; by default, SQLite in the data folder is used',
  },
  syncCalls: {
    variable: 'QM_SYNC_CALLS',
    schema: yesOrNo.default(false),
    help: 'SQLite: make each call wait until its record would survive a power failure; PostgreSQL has its own setting',
  },
  callRetentionDays: {
    variable: 'QM_CALL_RETENTION_DAYS',
    schema: whole(0, 36_500).default(0),
    help: 'Days to keep call records and their approvals; 0 keeps them forever. Older ones are deleted every hour',
  },
  sessionRetentionDays: {
    variable: 'QM_SESSION_RETENTION_DAYS',
    schema: whole(0, 36_500).default(0),
    help: 'Days to keep sessions with their events and turns after the last change; 0 keeps them forever. Older ones are deleted every hour',
  },
  logLevel: {
    variable: 'QM_LOG_LEVEL',
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
    help: 'Log level',
  },
  bodyLimit: {
    variable: 'QM_BODY_LIMIT',
    schema: whole(1024, 1e9).default(4 * 1024 * 1024),
    help: 'Maximum size of a JSON request body, in bytes',
  },
  fileLimit: {
    variable: 'QM_FILE_LIMIT',
    schema: whole(1024, 1e12).default(100 * 1024 * 1024),
    help: 'Maximum size of a file, in bytes',
  },
  responseLimit: {
    variable: 'QM_RESPONSE_LIMIT',
    schema: whole(1024, 1e9).default(10 * 1024 * 1024),
    help: 'Maximum size of a tool’s response, in bytes',
  },
  rateLimit: {
    variable: 'QM_RATE_LIMIT',
    schema: whole(0, 1e9).default(60_000),
    help: 'Requests per minute for keys without a rate limit of their own; 0 means no limit',
  },
  egressAllow: {
    variable: 'QM_EGRESS_ALLOW',
    schema: ranges.default([]),
    help: 'Non-public addresses that tools may call: ranges such as 10.0.0.0/8, or "private" for all private ones',
  },
  httpProxy: {
    variable: 'HTTP_PROXY',
    inLowerCase: true,
    schema: proxy,
    help: 'Proxy for requests to http URLs; see docs/guides/egress.md. http_proxy takes precedence',
  },
  httpsProxy: {
    variable: 'HTTPS_PROXY',
    inLowerCase: true,
    schema: proxy,
    help: 'Proxy for requests to https URLs; https_proxy takes precedence',
  },
  noProxy: {
    variable: 'NO_PROXY',
    inLowerCase: true,
    schema: z.string().optional(),
    help: 'Hosts that bypass the proxy, separated by commas: names (including their subdomains), addresses, ranges, or "*"; no_proxy takes precedence',
  },
  secretVariables: {
    variable: 'QM_SECRET_VARIABLES',
    schema: z
      .string()
      .transform((text) => text.split(',').map((name) => name.trim()))
      .refine(
        (names) => names.every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)),
        'must be names separated by commas',
      )
      .optional(),
    help: 'Environment variables that secrets can be read from, separated by commas; by default, none',
  },
  secretFiles: {
    variable: 'QM_SECRET_FILES',
    schema: z.string().min(1).optional(),
    help: 'Folder with files that secrets can be read from, such as /run/secrets: one value per file. Changes are noticed within seconds',
  },
  allowStdio: {
    variable: 'QM_ALLOW_STDIO',
    schema: yesOrNo.default(false),
    help: 'Allow tools to start MCP servers as local programs (stdio)',
  },
  ignoreRequired: {
    flag: 'ignore-required',
    isSwitch: true,
    variable: 'QM_IGNORE_REQUIRED',
    schema: yesOrNo.default(false),
    help: 'Start even if a required MCP server is unreachable',
  },
  embeddings: {
    variable: 'QM_EMBEDDINGS',
    schema: z.enum(['embedded', 'off']).default('embedded'),
    help: 'Search actions by meaning with the built-in embedding model, or by keywords only; see also QM_EMBEDDINGS_URL',
  },
  embeddingsFolder: {
    variable: 'QM_EMBEDDINGS_FOLDER',
    schema: z.string().min(1).optional(),
    help: 'Folder with the files of the built-in model; by default, the installed package',
  },
  embeddingsUrl: {
    variable: 'QM_EMBEDDINGS_URL',
    schema: z
      .string()
      .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https URL')
      .optional(),
    help: 'OpenAI-compatible API to use for embeddings instead of the built-in model, such as https://api.openai.com/v1',
  },
  embeddingsModel: {
    variable: 'QM_EMBEDDINGS_MODEL',
    schema: z.string().min(1).default('text-embedding-3-small'),
    help: 'Embedding model to use at QM_EMBEDDINGS_URL',
  },
  embeddingsKey: {
    variable: 'QM_EMBEDDINGS_KEY',
    schema: z.string().min(1).optional(),
    help: 'API key for QM_EMBEDDINGS_URL',
  },
  embeddingsQueryPrefix: {
    variable: 'QM_EMBEDDINGS_QUERY_PREFIX',
    schema: z.string().max(200).optional(),
    help: 'Text that the embedding model expects before a request; by default, the one that is known for the model',
  },
  embeddingsDocumentPrefix: {
    variable: 'QM_EMBEDDINGS_DOCUMENT_PREFIX',
    schema: z.string().max(200).optional(),
    help: 'Text that the embedding model expects before a description; by default, the one that is known for the model',
  },
  approvalSeconds: {
    variable: 'QM_APPROVAL_SECONDS',
    schema: amount(1, 604_800).default(300),
    help: 'Time to decide on an approval, unless a rule, the tool or the server sets it; after that, the call is rejected',
  },
  pendingApprovals: {
    variable: 'QM_PENDING_APPROVALS',
    schema: whole(1, 1_000_000).default(500),
    help: 'Calls per key that can wait for approval at the same time; further calls are refused until some are decided',
  },
  outputSeconds: {
    variable: 'QM_OUTPUT_SECONDS',
    schema: amount(1, 2_592_000).default(86_400),
    help: 'How long a run waits for the outputs of client tools before it fails',
  },
  publicUrl: {
    variable: 'QM_PUBLIC_URL',
    schema: z
      .string()
      .refine((url) => /^https?:/i.test(url) && URL.canParse(url), 'must be an http or https URL')
      .optional(),
    help: 'Public URL of the platform, for links and as the OAuth issuer; by default, the address that the caller used (links) or that it listens on (OAuth)',
  },
  oauth: {
    variable: 'QM_OAUTH',
    schema: yesOrNo.default(true),
    help: 'Let MCP clients connect with OAuth, through the built-in authorization server',
  },
  oauthClientHosts: {
    variable: 'QM_OAUTH_CLIENT_HOSTS',
    schema: list.optional(),
    help: 'Hosts whose OAuth client metadata documents are accepted, separated by commas; by default, all. "none" accepts no documents',
  },
  oauthRegistration: {
    variable: 'QM_OAUTH_REGISTRATION',
    schema: yesOrNo.default(true),
    help: 'Let OAuth clients register themselves; most editors need this',
  },
  clientMetadataUrl: {
    variable: 'QM_CLIENT_METADATA_URL',
    schema: z
      .string()
      .refine((url) => URL.parse(url)?.protocol === 'https:', 'must be an https URL')
      .optional(),
    help: 'URL of the document that identifies the platform to authorization servers; by default, /connect/client-metadata.json below an https QM_PUBLIC_URL',
  },
  drainSeconds: {
    variable: 'QM_DRAIN_SECONDS',
    schema: whole(0, 3600).default(25),
    help: 'Time for calls in flight to finish when the platform shuts down',
  },
} as const satisfies Record<
  string,
  {
    flag?: string
    isSwitch?: true
    repeats?: true
    variable: string
    inLowerCase?: true
    schema: z.ZodType
    help: string
  }
>

type Settings = { readonly [Name in keyof typeof settings]: z.infer<(typeof settings)[Name]['schema']> }

export interface Config extends Settings {
  /** Whether only this machine can reach the platform. If so, tools may also call loopback addresses. */
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

/** The settings that are also flags of `quartermaster up`. */
export const settingFlags = (): { name: string; help: string; value?: string; negatable?: true; repeats?: true }[] =>
  Object.entries(settings).flatMap(([name, setting]) => {
    if (!('flag' in setting)) return []
    const { flag, help } = setting
    const repeats = 'repeats' in setting && ({ repeats: true } as const)
    return [{ name: flag, help, ...repeats, ...('isSwitch' in setting ? { negatable: true } : { value: name }) }]
  })

/** Reads the settings. Flags, such as `{ port: '4600' }`, take precedence over the environment. */
export function readConfig(
  flags: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
): Config {
  const config: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(settings)) {
    const flag = 'flag' in setting ? flags[setting.flag] : undefined
    // An empty variable counts as not set.
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

/** A warning if other machines can reach the platform without TLS, because API keys are then sent unencrypted. */
export function describeExposure({ onLoopback, host, publicUrl }: Config): string | undefined {
  if (onLoopback || publicUrl?.toLowerCase().startsWith('https:')) return undefined
  return `Listening on ${host} without TLS. Other machines can reach the platform, and API keys are sent unencrypted. Put a TLS proxy in front and set QM_PUBLIC_URL to its https URL, or listen on 127.0.0.1.`
}

/** Variables of the command line and of the client configurations that it writes. */
const otherVariables = ['QM_URL', 'QM_KEY', 'QM_PROFILE', 'QM_AUTHORIZATION']

/** Warnings for variables that look like settings but do not exist. */
export function describeUnknown(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = [...Object.values(settings).map(({ variable }) => variable), ...otherVariables]
  return Object.keys(environment)
    .filter((name) => name.startsWith('QM_') && !(known as string[]).includes(name))
    .map((name) => {
      const hint = didYouMean(name, known, unquoted) || ' "quartermaster up --help" lists them.'
      return `${name} is set, but there is no such setting. It has no effect.${hint}`
    })
}

const isLoopback = (host: string) =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
