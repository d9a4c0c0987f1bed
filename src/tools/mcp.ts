import { z } from 'zod'
import { inject } from '../credentials/inject.ts'
import { lineageHeader } from '../http/lineage.ts'
import { excessOf, isObject, type JsonObject } from '../lib/json.ts'
import type { Upstream } from '../mcp/client/upstream.ts'
import { type Fault, PlatformError } from '../model/errors.ts'
import { McpAddress, type Output } from '../model/tool.ts'
import type { ToolRecord } from '../store/tools.ts'
import { contextHeaders, defineToolType, type Reach } from './tool-type.ts'

/** An MCP server elsewhere: its tools are the actions, in its own words. */
export const mcp = defineToolType({
  type: 'mcp',
  many: true,
  config: z.object({ mcp: McpAddress }),

  check({ name, mcp: address }, { allowStdio }) {
    const faults: Fault[] = []
    if (name === 'tools') faults.push({ path: 'name', message: '"tools" is kept for tools with a single action' })
    if (address?.command !== undefined && !allowStdio) {
      const message = 'programs are not started here: an operator allows it with QM_ALLOW_STDIO=true'
      faults.push({ path: 'mcp.command', message })
    }
    return faults
  },

  async actions(tool, reach) {
    const seen = new Set<string>()
    const upstream = upstreamOf(tool, reach)
    return (await inTime(upstream.tools(), tool.timeout_seconds, upstream.host)).flatMap((definition) => {
      // Of two with one name only the first can be called, so only the first is there. And a name must be text that can
      // be kept and shown.
      if (seen.has(definition.name) || !isName(definition.name)) return []
      seen.add(definition.name)
      const { name, description = null, inputSchema, annotations } = definition
      return [
        {
          name,
          description,
          schema: inputSchema as JsonObject,
          idempotent: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
          // MCP's own default: what is not said to be harmless is not.
          destructive: annotations?.readOnlyHint !== true && annotations?.destructiveHint !== false,
          definition: definition as unknown as JsonObject,
        },
      ]
    })
  },

  refresh: (tool, reach) => upstreamOf(tool, reach).refresh(),

  renew: async (tool, reach, maxAge) => upstreamOf(tool, reach).renew(maxAge),

  health: (tool, reach) => upstreamOf(tool, reach).health,

  async execute({ tool, action, input, signal, timeoutMs, live, callId, depth, context }, reach): Promise<Output> {
    const { name, schema } = action
    const headers = { ...contextHeaders(context), [lineageHeader]: reach.lineage.print({ callId, depth }) }
    const upstream = upstreamOf(tool, reach)
    const result = await upstream.call({ name, schema, input, signal, timeoutMs, live, headers })
    const value = withoutItsName(result as unknown as JsonObject)
    const { text, excess } = printed(value)
    if (excess !== undefined) {
      throw new PlatformError('TOOL_PROTOCOL_ERROR', { host: upstream.host, reason: `its answer ${excess}` })
    }
    return { value, text, shape: 'mcp', failed: result.isError === true }
  },
})

/** A list that takes longer than a call may is not waited for; it goes on, for those who come later. */
async function inTime<T>(list: Promise<T>, seconds: number | null, host: string): Promise<T> {
  if (seconds === null) return list
  const { promise: late, reject } = Promise.withResolvers<never>()
  const reason = `it did not say within ${seconds} s what it offers`
  const timer = setTimeout(() => reject(new PlatformError('TOOL_UNREACHABLE', { host, reason })), seconds * 1000)
  try {
    return await Promise.race([list, late])
  } finally {
    clearTimeout(timer)
  }
}

function upstreamOf(tool: ToolRecord, { upstreams, findSecret, allowStdio }: Reach): Upstream {
  const address = tool.mcp as McpAddress
  const { headers, env } = address
  // It may have been allowed when the tool was registered, and not be any more.
  if (address.command !== undefined && !allowStdio) {
    const reason = 'programs are not started here: an operator allows it with QM_ALLOW_STDIO=true'
    throw new PlatformError('TOOL_UNREACHABLE', { host: address.command, reason })
  }
  const app = tool.app ?? tool.name.toLowerCase()
  const user = { project: tool.project_id, tool: tool.id, name: tool.name, app }
  if (!headers && !env) return upstreams.at(address, user)
  const secrets = findSecret(tool.project_id)
  const filled = { ...(headers && { headers: inject(headers, secrets) }), ...(env && { env: inject(env, secrets) }) }
  return upstreams.at({ ...address, ...filled }, user)
}

/** Deeper than any tree that a tool answers with, and not too deep to be printed again by whoever passes it on. */
const deepestAnswer = 1000

function printed(value: JsonObject): { readonly text: string; readonly excess?: string | undefined } {
  try {
    const text = JSON.stringify(value)
    return { text, excess: excessOf(text, deepestAnswer) }
  } catch (error) {
    if (error instanceof RangeError) return { text: '', excess: `is nested more than ${deepestAnswer} deep` }
    throw error
  }
}

const serverInfo = 'io.modelcontextprotocol/serverInfo'

/** Each server says of itself who it is, so what this one says of itself is not for our callers; all else is. */
function withoutItsName(result: JsonObject): JsonObject {
  const { _meta: meta } = result
  if (!isObject(meta) || !Object.hasOwn(meta, serverInfo)) return result
  const { _meta, ...rest } = result
  const { [serverInfo]: _, ...others } = meta
  return Object.keys(others).length > 0 ? { ...rest, _meta: others as JsonObject } : rest
}

const isName = (name: string): boolean =>
  name !== '' && name.length <= 500 && name.isWellFormed() && !name.includes('\0')
