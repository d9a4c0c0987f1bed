import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Config } from '../../config.ts'
import { createAddressRules } from '../../http/addresses.ts'
import { got, Refused, type Session } from '../toolkit/connection.ts'
import { oneLine } from '../toolkit/terminal.ts'
import { type Finding, fine, skipped, wrong } from './finding.ts'

/** Beyond this, tokens and approvals expire at the wrong moment. */
const mostSkewMs = 30_000
const mostTools = 500
const atOnce = 10

/** Whether it answers, knows the key, and has the same time. */
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
        `Nothing answers at ${origin}: ${error.message}`,
        'Start it with "quartermaster up", or name another with --url or QM_URL.',
      ),
    ]
  }
  if (error?.code === 'UNEXPECTED_ANSWER') {
    return [
      wrong('platform', `What answers at ${origin} is not a Quartermaster.`, 'Name its address with --url or QM_URL.'),
    ]
  }
  const clock = checkClock(response?.headers.get('date') ?? null, began)
  if (error) {
    const key = wrong(
      'key',
      `${error.message}`,
      'Give one that holds with --key or QM_KEY, or save it with "quartermaster login".',
    )
    return [fine('platform', `It answers at ${origin}.`), key, clock]
  }
  return [fine('platform', `It answers at ${origin}.`), fine('key', 'The platform knows it.'), clock]
}

function checkClock(date: string | null, began: number): Finding {
  const there = Date.parse(date ?? '')
  if (Number.isNaN(there)) return skipped('clock', 'The platform does not tell its time.')
  // The platform's time is of some moment between asking and now, in whole seconds.
  const now = Date.now()
  const away = there + 1000 < began ? began - there : there > now ? there - now : 0
  if (away <= mostSkewMs) return fine('clock', 'The same here and at the platform.')
  const seconds = Math.round(away / 1000)
  return wrong(
    'clock',
    `The clocks here and at the platform are ${seconds} s apart.`,
    'Set both by NTP: expiries and signatures go by them.',
  )
}

type Tool = { readonly id: string; readonly name: string; readonly execute?: { readonly url: string } | null }

export async function checkUpstreams({ qm }: Session): Promise<Finding> {
  const tools = await toolsOf(qm, 'mcp')
  const down = (
    await inGroups(tools, async ({ id, name }) => {
      const path = { tool_id: id }
      // Nobody may have tried it yet; to look at its actions is to try.
      const tried = await qm.tools.listToolActions({ path, query: { limit: 1 }, signal: AbortSignal.timeout(15_000) })
      const { data } = await qm.tools.getToolHealth({ path })
      const isDown = data && (data.state === 'down' || data.failures > 0)
      const why = data?.error ?? tried.error?.message ?? 'unknown'
      return isDown ? [`${name} (${oneLine(why).replace(/\.$/, '')})`] : []
    })
  ).flat()
  if (down.length === 0)
    return fine('MCP servers', tools.length === 0 ? 'There are none.' : `All ${tools.length} answer.`)
  return wrong(
    'MCP servers',
    `${down.length} of ${tools.length} cannot be reached: ${down.join('; ')}.`,
    'Start them, or change where they are with "quartermaster update-tool".',
  )
}

/** What http tools point at that the platform would not call, by its settings here and by the record of calls. */
export async function checkEgress({ qm, connection }: Session, config: Config): Promise<Finding> {
  const tools = await toolsOf(qm, 'http')
  const findObjection = createAddressRules({ allowLoopback: config.onLoopback, allow: config.egressAllow })
  const isHere = /^(localhost|127\.|\[::1\])/.test(new URL(connection.baseUrl).hostname)
  const judged = await inGroups(isHere ? tools : [], async ({ name, execute }) => {
    const host = URL.parse((execute?.url ?? '').replaceAll(/\{\w+\}/g, 'x'))?.hostname.replaceAll(/[[\]]/g, '')
    if (!host || /^https?:\/\/[^/]*\{/.test(execute?.url ?? '')) return []
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
    error?.code === 'EGRESS_BLOCKED' ? [`${tool} calls ${String(error.details.host)}, which was refused`] : [],
  )
  const known = new Set(judged.flat().map((text) => text.split(' ')[0]))
  const all = [...new Set([...judged.flat(), ...recorded.filter((text) => !known.has(text.split(' ')[0] ?? ''))])]
  if (all.length === 0)
    return fine('http tools', `The platform may call what ${tools.length === 1 ? 'it points' : 'they point'} at.`)
  return wrong(
    'http tools',
    `${all.map(oneLine).join('; ')}.`,
    'Add the address to QM_EGRESS_ALLOW, as in 10.0.0.0/8, or change the tool.',
  )
}

export async function checkKeys({ qm }: Session): Promise<Finding[]> {
  const { data, error } = await qm.apiKeys.listApiKeys({ query: { limit: 500 } })
  if (error) return [skipped('keys', 'This key may not list them.')]
  const expired = data.data.filter(({ expires_at }) => expires_at !== null && Date.parse(expires_at) < Date.now())
  const idle = data.data.filter(({ access_policy_ids }) => access_policy_ids.length === 0)
  const named = (keys: typeof data.data) => keys.map(({ name, id }) => `${oneLine(name)} (${id})`).join(', ')
  if (expired.length + idle.length === 0) return [fine('keys', `${data.total} seen, each with an access policy.`)]
  return [
    ...(expired.length > 0
      ? [
          wrong(
            'keys',
            `Expired: ${named(expired)}.`,
            'Revoke them with "quartermaster delete-api-key", or renew with update-api-key --expires-at.',
          ),
        ]
      : []),
    ...(idle.length > 0
      ? [
          wrong(
            'keys',
            `May do nothing, having no access policy: ${named(idle)}.`,
            'Give them one: quartermaster update-api-key --api-key-id … --access-policy-ids pol_caller',
          ),
        ]
      : []),
  ]
}

/** Whether it takes work, and searches as it was meant to. */
export async function checkReady({ connection }: Session): Promise<Finding> {
  try {
    const url = `${connection.baseUrl.replace(/(\/api\/v1)?\/*$/, '')}/ready`
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) })
    if (response.ok) {
      const { search } = (await response.json()) as { search?: { reason?: string } }
      if (search?.reason === undefined) return fine('readiness', 'The platform is ready.')
      return wrong(
        'readiness',
        `The platform searches by words alone: ${oneLine(search.reason).replace(/\.$/, '')}.`,
        'Mend the model at the platform, or set QM_EMBEDDINGS=off there to leave it so.',
      )
    }
  } catch {
    // It is not ready, then.
  }
  return wrong(
    'readiness',
    'The platform is not ready: it is starting, stopping, or without its database.',
    'Look at its log.',
  )
}

async function toolsOf(qm: Session['qm'], type: 'mcp' | 'http'): Promise<Tool[]> {
  try {
    return got(await qm.tools.listTools({ query: { type, limit: mostTools } })).data as Tool[]
  } catch (error) {
    if (error instanceof Refused) return []
    throw error
  }
}

async function inGroups<From, To>(list: readonly From[], work: (one: From) => Promise<To>): Promise<To[]> {
  const result: To[] = []
  for (let start = 0; start < list.length; start += atOnce) {
    result.push(...(await Promise.all(list.slice(start, start + atOnce).map(work))))
  }
  return result
}
