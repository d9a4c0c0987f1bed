import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { withoutCredentials } from '../credentials/names.ts'
import { masked, maskedUrl, maskedValues, secretsAt } from '../credentials/tool-secrets.ts'
import { lineageHeader } from '../http/lineage.ts'
import { excessOf, isObject, type JsonObject } from '../lib/json.ts'
import { McpAddress } from '../mcp/client/address.ts'
import type { Upstream, UpstreamMethod } from '../mcp/client/upstream.ts'
import { PlatformError } from '../model/errors.ts'
import { Level, type Output } from '../model/tool.ts'
import type { ToolRecord } from '../store/tools.ts'
import { formHints } from './form-hints.ts'
import { type ActionDefinition, defineToolType, type Filled, identityHeaders, type ToolDeps } from './tool-type.ts'

const { url, headers, command, args, env } = McpAddress.shape
formHints.add(url, { placeholder: 'https://docs.example.com/mcp' })
formHints.add(headers, { add: 'Add a header' })
formHints.add(command, { placeholder: 'npx' })
formHints.add(args, { control: 'lines' })
formHints.add(env, { add: 'Add a variable' })

const Server = McpAddress.meta({ title: 'Server', description: 'The MCP server of an mcp tool' }).register(formHints, {
  variants: {
    title: 'Transport',
    options: [
      { title: 'HTTP (Streamable HTTP or SSE)', fields: ['url', 'headers'], required: ['url'] },
      { title: 'stdio (local command)', fields: ['command', 'args', 'env', 'cwd'], required: ['command'] },
    ],
  },
})

const method = (
  name: UpstreamMethod,
  description: string,
  properties: JsonObject,
  required: string[],
): ActionDefinition => ({
  name,
  method: name,
  description,
  schema: { type: 'object', properties, required, additionalProperties: false },
  idempotent: true,
  destructive: false,
  readOnly: true,
})

const text = { type: 'string' }

/** What clients use beside tools. Lists are read without a call. */
const methods: readonly ActionDefinition[] = [
  method('prompts/get', 'Get a prompt', { name: text, arguments: { type: 'object' } }, ['name']),
  method('resources/read', 'Read a resource', { uri: text }, ['uri']),
  method(
    'completion/complete',
    'Complete an argument of a prompt or a resource template',
    { ref: { type: 'object' }, argument: { type: 'object' }, context: { type: 'object' } },
    ['ref', 'argument'],
  ),
]

/** A remote MCP server. Its tools are the actions, as it defines them. */
export const mcp = defineToolType({
  type: 'mcp',
  title: 'MCP server',
  description: 'Every tool of another MCP server, as it describes them.',
  many: true,
  config: z.object({ mcp: Server }),
  summary: ['mcp.url', 'mcp.command', 'mcp.args'],
  permissions: ['tools:RunProgram'],

  check: ({ config: { mcp } }, { allowStdio }) =>
    mcp.command === undefined || allowStdio ? [] : [{ path: 'mcp.command', message: notStarted }],

  authorize({ config: { mcp }, before, principal, requireAllowed }) {
    // One project must not be able to keep the whole platform from starting.
    if (mcp.required && !before?.mcp.required && principal.projectId !== null) {
      const message =
        'is for keys that are not bound to a project: the whole platform would not start without the server'
      throw new PlatformError('VALIDATION_FAILED', { errors: [{ path: 'mcp.required', message }] })
    }
    // Registering tools does not include the right to run programs on this machine.
    if (mcp.command !== undefined && !isDeepStrictEqual(mcp, before?.mcp)) requireAllowed('tools:RunProgram')
  },

  secrets: ({ mcp }) => secretsAt(mcp),

  secretsGoTo: ({ mcp: { url = '', command, args, cwd } }) => [URL.parse(url)?.origin, command, args, cwd],

  masked: ({ mcp }) => ({
    mcp: {
      ...mcp,
      ...(mcp.url !== undefined && { url: maskedUrl(mcp.url) }),
      ...(mcp.args && { args: mcp.args.map(() => masked) }),
      ...maskedValues(mcp),
    },
  }),

  fingerprint: ({ mcp }) => ({
    mcp: { ...mcp, headers: withoutCredentials(mcp.headers), env: withoutCredentials(mcp.env) },
  }),

  required: ({ mcp }) => mcp.required === true,

  destination: ({ mcp }) => (mcp.url === undefined ? undefined : { url: mcp.url, discovers: true }),

  lifetime: () => listLifetime,

  async actions(tool, deps, filled) {
    const seen = new Set<string>()
    const upstream = upstreamOf(tool, deps, filled)
    return (await inTime(upstream.tools(), tool.timeout_seconds, upstream.host)).flatMap((definition) => {
      // Of duplicate names only the first can be called, so the others are left out. A name must be text that can be
      // stored and displayed.
      if (seen.has(definition.name) || !isName(definition.name)) return []
      seen.add(definition.name)
      const { name, description = null, inputSchema, annotations, _meta } = definition
      const level = Level.safeParse(_meta?.[levelKey]).data
      return [
        {
          name,
          description,
          schema: inputSchema as JsonObject,
          idempotent: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
          // MCP's default: a tool is destructive unless it says otherwise.
          destructive: annotations?.readOnlyHint !== true && annotations?.destructiveHint !== false,
          readOnly: annotations?.readOnlyHint === true,
          definition: definition as unknown as JsonObject,
          ...(level && { level }),
        },
      ]
    })
  },

  offers: (tool, deps, filled) => {
    const upstream = upstreamOf(tool, deps, filled)
    return inTime(upstream.offers(), tool.timeout_seconds, upstream.host)
  },

  watch: async (tool, deps, filled, uri, listener) => upstreamOf(tool, deps, filled).watch(uri, listener),

  methods,

  async refresh(tool, deps, filled) {
    await upstreamOf(tool, deps, filled).refresh()
    return undefined
  },

  refreshStale: async (tool, deps, filled, maxAge) => upstreamOf(tool, deps, filled).renew(maxAge),

  health: (tool, deps, filled) => upstreamOf(tool, deps, filled).health,

  async execute(call, deps): Promise<Output> {
    const { tool, action, input, signal, timeoutMs, live, callId, depth, context } = call
    const { name, schema, method } = action
    const headers = { ...identityHeaders(tool, context), [lineageHeader]: deps.lineage.print({ callId, depth }) }
    const upstream = upstreamOf(tool, deps, call)
    const result = method
      ? await upstream.request({ method, params: input, signal, timeoutMs, live, headers })
      : await upstream.call({ name, schema, input, signal, timeoutMs, live, headers })
    const value = withoutItsName(result)
    const { text, excess } = printed(value)
    if (excess !== undefined) {
      throw new PlatformError('TOOL_PROTOCOL_ERROR', { host: upstream.host, reason: `its response ${excess}` })
    }
    return { value, text, shape: 'mcp', failed: result.isError === true }
  },
})

/** A server can say in `_meta` that a tool needs more permission than its other tools. */
const levelKey = 'quartermaster/level'

const notStarted = 'programs are not started here: an operator allows it with QM_ALLOW_STDIO=true'

/** Not all servers send a notification when their list changes. */
const listLifetime = 5 * 60_000

/** Limits the wait to the timeout of a call. The request continues, for later callers. */
async function inTime<T>(list: Promise<T>, seconds: number | null, host: string): Promise<T> {
  if (seconds === null) return list
  const { promise: late, reject } = Promise.withResolvers<never>()
  const reason = `it did not list its tools within ${seconds} s`
  const timer = setTimeout(() => reject(new PlatformError('TOOL_UNREACHABLE', { host, reason })), seconds * 1000)
  try {
    return await Promise.race([list, late])
  } finally {
    clearTimeout(timer)
  }
}

type McpConfig = { readonly mcp: McpAddress }

/** The connection is found by the address with its secrets, so that callers with other values never share one. */
function upstreamOf(tool: ToolRecord<McpConfig>, deps: ToolDeps, filled: Filled<McpConfig>): Upstream {
  const { config, redactor, authorization } = filled
  const { upstreams, allowStdio } = deps
  const { mcp } = config
  // Stdio may have been allowed when the tool was registered, and disabled since.
  if (mcp.command !== undefined && !allowStdio) {
    throw new PlatformError('TOOL_UNREACHABLE', { host: mcp.command, reason: notStarted })
  }
  const app = tool.app ?? tool.name.toLowerCase()
  const user = { project: tool.project_id, tool: tool.id, name: tool.name, app }
  return upstreams.at(mcp, user, redactor, authorization)
}

/** Deeper than any real result, but shallow enough that every recipient can serialize it. */
const maxAnswerDepth = 1000

function printed(value: JsonObject): { readonly text: string; readonly excess?: string | undefined } {
  try {
    const text = JSON.stringify(value)
    return { text, excess: excessOf(text, maxAnswerDepth) }
  } catch (error) {
    if (error instanceof RangeError) return { text: '', excess: `is nested more than ${maxAnswerDepth} deep` }
    throw error
  }
}

const serverInfo = 'io.modelcontextprotocol/serverInfo'

/** Removes the server's info from `_meta`: clients get ours instead. Other metadata is kept. */
function withoutItsName(result: JsonObject): JsonObject {
  const { _meta: meta } = result
  if (!isObject(meta) || !Object.hasOwn(meta, serverInfo)) return result
  const { _meta, ...rest } = result
  const { [serverInfo]: _, ...others } = meta
  return Object.keys(others).length > 0 ? { ...rest, _meta: others } : rest
}

const isName = (name: string): boolean =>
  name !== '' && name.length <= 500 && name.isWellFormed() && !name.includes('\0')
