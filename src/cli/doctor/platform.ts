import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Config } from '../../config.ts'
import { createAddressRules } from '../../http/addresses.ts'
import type { Tool } from '../../sdk/index.ts'
import { toolTypes } from '../../tools/index.ts'
import type { ToolType } from '../../tools/tool-type.ts'
import { got, Refused, type Session } from '../toolkit/connection.ts'
import { oneLine } from '../toolkit/terminal.ts'
import { type Finding, fine, skipped, wrong } from './finding.ts'

/** With a larger clock skew, tokens and approvals expire too early or too late. */
const maxSkewMs = 30_000
const maxTools = 500
const concurrency = 10

/** Checks the connection, the key and the clock. */
export async function checkPlatform({ qm, connection }: Session): Promise<Finding[]> {
  const { origin } = new URL(connection.baseUrl)
  const began = Date.now()
  const { error, response } = await qm.projects.listProjects({
    query: { limit: 1 },
    signal: AbortSignal.timeout(10_000),
  })
  if (error?.code === 'NETWORK' || error?.code === 'ABORTED') {
    return [
      wrong(
        'platform',
        `No response from ${origin}: ${error.message}`,
        'Start it with "quartermaster up", or set another address with --url or QM_URL.',
      ),
    ]
  }
  if (error?.code === 'UNEXPECTED_ANSWER') {
    return [
      wrong(
        'platform',
        `The server at ${origin} is not a Quartermaster.`,
        'Set the address of the platform with --url or QM_URL.',
      ),
    ]
  }
  const clock = checkClock(response?.headers.get('date') ?? null, began)
  if (error) {
    const key = wrong(
      'key',
      error.message,
      'Pass a valid API key with --key or QM_KEY, or save one with "quartermaster login".',
    )
    return [fine('platform', `Connected to ${origin}.`), key, clock]
  }
  return [fine('platform', `Connected to ${origin}.`), fine('key', 'The API key is valid.'), clock]
}

function checkClock(date: string | null, began: number): Finding {
  const there = Date.parse(date ?? '')
  if (Number.isNaN(there)) return skipped('clock', 'The response has no Date header.')
  // The Date header is from some moment between the request and now, in whole seconds.
  const now = Date.now()
  const skew = there + 1000 < began ? began - there : there > now ? there - now : 0
  if (skew <= maxSkewMs) return fine('clock', 'The clocks of this machine and the platform agree.')
  const seconds = Math.round(skew / 1000)
  return wrong(
    'clock',
    `The clocks of this machine and the platform differ by ${seconds} s.`,
    'Synchronize both with NTP: expiry times and signatures depend on them.',
  )
}

export async function checkUpstreams({ qm }: Session): Promise<Finding> {
  const tools = (await toolsOf(qm, ({ health }) => health !== undefined)).map(({ tool }) => tool)
  const down = (
    await inGroups(tools, async ({ id, name }) => {
      const path = { tool_id: id }
      // The platform may not have connected yet. Listing the actions makes it connect.
      const tried = await qm.tools.listToolActions({ path, query: { limit: 1 }, signal: AbortSignal.timeout(15_000) })
      const { data } = await qm.tools.getToolHealth({ path })
      const isDown = data && (data.state === 'down' || data.failures > 0)
      const why = data?.error ?? tried.error?.message ?? 'unknown'
      return isDown ? [`${name} (${oneLine(why).replace(/\.$/, '')})`] : []
    })
  ).flat()
  if (down.length === 0)
    return fine(
      'MCP servers',
      ['None.', 'The only one is reachable.'][tools.length] ?? `All ${tools.length} are reachable.`,
    )
  return wrong(
    'MCP servers',
    `${down.length} of ${tools.length} cannot be reached: ${down.join('; ')}.`,
    'Start them, or change their address with "quartermaster update-tool".',
  )
}

/** Finds addresses of tools that the platform blocks, from the settings of this machine and from the call log. */
export async function checkEgress({ qm, connection }: Session, config: Config): Promise<Finding> {
  const tools = await toolsOf(qm, ({ addresses }) => addresses !== undefined)
  const findObjection = createAddressRules({ allowLoopback: config.onLoopback, allow: config.egressAllow })
  const isHere = /^(localhost|127\.|\[::1\])/.test(new URL(connection.baseUrl).hostname)
  const called = tools.flatMap(({ tool, type }) =>
    (type.addresses?.(configOf(tool, type)) ?? []).map((url) => ({ name: tool.name, url })),
  )
  const denied = await inGroups(isHere ? called : [], async ({ name, url }) => {
    const host = URL.parse(url.replaceAll(/\{\w+\}/g, 'x'))?.hostname.replaceAll(/[[\]]/g, '')
    if (!host || /^https?:\/\/[^/]*\{/.test(url)) return []
    const addresses = isIP(host)
      ? [host]
      : await lookup(host, { all: true }).then(
          (all) => all.map((one) => one.address),
          () => [],
        )
    const objection = addresses.map((address) => findObjection(address)).find((one) => one !== undefined)
    return objection === undefined ? [] : [`${name} calls ${host}, ${objection}`]
  })
  const { data } = await qm.calls.listCalls({ query: { status: 'permission_denied', limit: 100 } })
  const recorded = (data?.data ?? []).flatMap(({ error, tool }) =>
    error?.code === 'EGRESS_BLOCKED' ? [`${tool} calls ${String(error.details.host)}, which was blocked`] : [],
  )
  const known = new Set(denied.flat().map((text) => text.split(' ')[0]))
  const all = [...new Set([...denied.flat(), ...recorded.filter((text) => !known.has(text.split(' ')[0] ?? ''))])]
  if (all.length === 0) return fine('http tools', 'The platform may call all their addresses.')
  return wrong(
    'http tools',
    `${all.map(oneLine).join('; ')}.`,
    'Add the address to QM_EGRESS_ALLOW, such as 10.0.0.0/8, or change the tool.',
  )
}

export async function checkKeys({ qm }: Session): Promise<Finding[]> {
  const { data, error } = await qm.apiKeys.listApiKeys({ query: { limit: 500 } })
  if (error) return [skipped('keys', 'This API key may not list API keys.')]
  const expired = data.data.filter(({ expires_at }) => expires_at !== null && Date.parse(expires_at) < Date.now())
  const idle = data.data.filter(({ access_policy_ids }) => access_policy_ids.length === 0)
  const named = (keys: typeof data.data) => keys.map(({ name, id }) => `${oneLine(name)} (${id})`).join(', ')
  if (expired.length + idle.length === 0)
    return [
      fine(
        'keys',
        data.total === 1 ? '1 API key, with an access policy.' : `${data.total} API keys, each with an access policy.`,
      ),
    ]
  return [
    ...(expired.length > 0
      ? [
          wrong(
            'keys',
            `Expired: ${named(expired)}.`,
            'Revoke them with "quartermaster delete-api-key", or extend them with "update-api-key --expires-at".',
          ),
        ]
      : []),
    ...(idle.length > 0
      ? [
          wrong(
            'keys',
            `No access policy, so no permissions: ${named(idle)}.`,
            'Add one: quartermaster update-api-key --api-key-id … --access-policy-ids pol_caller',
          ),
        ]
      : []),
  ]
}

/** Checks that the platform is ready and that its search works as configured. */
export async function checkReady({ connection }: Session): Promise<Finding> {
  try {
    const url = `${connection.baseUrl.replace(/(\/api\/v1)?\/*$/, '')}/ready`
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) })
    if (response.ok) {
      const { search } = (await response.json()) as { search?: { reason?: string } }
      if (search?.reason === undefined) return fine('readiness', 'The platform is ready.')
      return wrong(
        'readiness',
        `Search on the platform uses keywords only: ${oneLine(search.reason).replace(/\.$/, '')}.`,
        'Fix the model on the platform. To keep keyword search, set QM_EMBEDDINGS=off there.',
      )
    }
  } catch {
    // Treated as not ready.
  }
  return wrong(
    'readiness',
    'The platform is not ready. It is starting, stopping, or cannot reach its database.',
    'Check the log of the platform.',
  )
}

/** The tools of the built-in types that match, each with its type. */
async function toolsOf(
  qm: Session['qm'],
  fits: (type: ToolType) => boolean,
): Promise<{ readonly tool: Tool; readonly type: ToolType }[]> {
  try {
    const found = await Promise.all(
      toolTypes.filter(fits).map(async (type) => {
        const query = { type: type.type as 'http', limit: maxTools }
        return got(await qm.tools.listTools({ query })).data.map((tool) => ({ tool, type }))
      }),
    )
    return found.flat()
  } catch (error) {
    if (error instanceof Refused) return []
    throw error
  }
}

const configOf = (tool: Tool, { config }: ToolType): object =>
  Object.fromEntries(Object.keys(config.shape).map((field) => [field, tool[field as keyof Tool]]))

async function inGroups<From, To>(list: readonly From[], work: (one: From) => Promise<To>): Promise<To[]> {
  const result: To[] = []
  for (let start = 0; start < list.length; start += concurrency) {
    result.push(...(await Promise.all(list.slice(start, start + concurrency).map(work))))
  }
  return result
}
