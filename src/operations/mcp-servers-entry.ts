import { z } from 'zod'
import { isObject } from '../lib/json.ts'
import type { McpAddress } from '../mcp/client/address.ts'
import type { ActionSettings } from '../model/tool.ts'

/** One entry of an `mcpServers` file. Other fields, which depend on the editor or assistant, are handled by name. */
export const Entry = z.looseObject({
  url: z.string().optional(),
  serverUrl: z.string().optional(),
  httpUrl: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
  cwd: z.string().optional(),
  required: z.boolean().optional(),
  disabled: z.boolean().optional(),
  description: z.string().optional(),
})
export type Entry = z.infer<typeof Entry>

/** Documented as an entry but accepted unchecked, so that an invalid entry is skipped without failing the others. */
const { $schema: _, ...described } = z.toJSONSchema(Entry, { io: 'input' })
export const AnyEntry = z.custom<unknown>(() => true).meta(described)

export interface NotTakenOver {
  readonly field: string
  readonly instead: string
}

export interface Placeholder {
  readonly field: string
  readonly placeholder: string
}

/** The parts of an entry that we support, and the parts that we do not. */
export interface ReadEntry {
  readonly mcp: McpAddress
  readonly description: string | null
  readonly auto_approve: boolean | null
  readonly timeout_seconds: number | null
  readonly action_settings: Readonly<Record<string, ActionSettings>> | null
  readonly notTakenOver: readonly NotTakenOver[]
  readonly toFillIn: readonly Placeholder[]
}

/** Why an entry is skipped on purpose, if it is. */
export function reasonToLeaveOut(entry: unknown): string | undefined {
  if (!isObject(entry)) return undefined
  if (entry.disabled === true || entry.enabled === false) return 'It is disabled in the file.'
  return Object.keys(entry).length === 0 ? 'It is empty in the file.' : undefined
}

const ofAddress = ['url', 'serverUrl', 'httpUrl', 'headers']
const ofProgram = ['command', 'args', 'env', 'cwd']
/** Handled elsewhere, or not needed because the transport is detected. */
const readAlready = new Set(['type', 'transport', 'transportType', 'disabled', 'enabled', 'description', 'required'])
const approving = new Set(['autoApprove', 'alwaysAllow', 'trust'])
const leavingOut = new Set(['disabledTools', 'disabled_tools', 'excludeTools'])
const keeping = new Set(['allowedTools', 'includeTools', 'enabledTools', 'enabled_tools', 'tools'])

export function readEntry(entry: Entry): ReadEntry {
  const address = entry.url ?? entry.serverUrl ?? entry.httpUrl
  const { headers, command, args, env, cwd, required } = entry
  const given = address === undefined ? { command, args, env, cwd, required } : { url: address, headers, required }
  const mcp = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as McpAddress
  const approvals: (true | readonly string[])[] = []
  const limits: Readonly<Record<string, ActionSettings>>[] = []
  const notTakenOver: NotTakenOver[] = []
  let timeout: number | null = null
  for (const [field, value] of Object.entries(entry)) {
    const leave = (instead: string) => notTakenOver.push({ field: field.slice(0, 200), instead })
    if (readAlready.has(field)) continue
    if (approving.has(field)) {
      const names = namesIn(value)
      approvals.push(value === true || (names ?? []))
      if (!names && typeof value !== 'boolean') leave(approveInstead)
    } else if (leavingOut.has(field) || keeping.has(field)) {
      const leavesOut = leavingOut.has(field)
      const names = namesIn(value)
      if (!leavesOut && names?.includes('*')) continue
      if (names) limits.push(leavesOut ? without(names) : only(names))
      else {
        approvals.push([])
        leave(limitInstead)
      }
    } else if (field === 'timeout') {
      const { seconds, instead } = readTimeout(value)
      timeout = seconds
      if (instead) leave(instead)
    } else if (ofAddress.includes(field)) {
      if (address === undefined) leave('Applies only to servers with a URL, and this one is a local program.')
    } else if (ofProgram.includes(field)) {
      if (address !== undefined) leave('Applies only to local programs, and this server has a URL.')
    } else {
      leave('Not supported. Check how the server behaves without it.')
    }
  }
  return {
    mcp,
    description: entry.description ?? null,
    auto_approve: approvals.length === 0 ? null : approvals.every(isAll),
    timeout_seconds: timeout,
    action_settings: merged([...limits, approvedIn(approvals)]),
    notTakenOver,
    toFillIn: placeholdersIn(mcp),
  }
}

const approveInstead =
  'Not a list of tools, so every call needs approval. Turn auto_approve on if you do not need that.'
const limitInstead =
  'Not a list of tools, so all of its tools were imported, and every call needs approval. Disable tools in action_settings, then turn auto_approve on.'

const namesIn = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.length <= 500 && value.every((one) => typeof one === 'string' && isActionName(one))
    ? value
    : undefined

const isActionName = (name: string) => name.length > 0 && name.length <= 200

const without = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, { enabled: false }]))

const only = (names: readonly string[]) => ({
  '*': { enabled: false },
  ...Object.fromEntries(names.map((name) => [name, { enabled: true }])),
})

const isAll = (names: true | readonly string[]) => names === true || names.includes('*')

/** The tools that run without approval while the others need one. Each field of the file must list them. */
function approvedIn(approvals: readonly (true | readonly string[])[]): Readonly<Record<string, ActionSettings>> {
  const [first = [], ...others] = approvals.filter((names): names is readonly string[] => !isAll(names))
  const inAll = first.filter((name) => others.every((names) => names.includes(name)))
  return Object.fromEntries(inAll.map((name) => [name, { auto_approve: true }]))
}

/** What one field disables, another does not enable. */
function merged(
  limits: readonly Readonly<Record<string, ActionSettings>>[],
): Readonly<Record<string, ActionSettings>> | null {
  const all: Record<string, ActionSettings> = {}
  for (const [name, settings] of limits.flatMap((one) => Object.entries(one))) {
    const isDisabled = all[name]?.enabled === false
    all[name] = { ...all[name], ...settings, ...(isDisabled && { enabled: false }) }
  }
  return Object.keys(all).length === 0 ? null : all
}

const longest = 3600

/** Most clients use seconds, up to an hour. Some use milliseconds, so larger values are assumed to be that. */
function readTimeout(value: unknown): { seconds: number | null; instead?: string } {
  if (typeof value !== 'number' || !(value > 0)) {
    return { seconds: null, instead: 'Not a number of seconds. Set timeout_seconds; the default is 60.' }
  }
  const seconds = value > longest ? value / 1000 : value
  if (seconds <= longest) return { seconds }
  return { seconds: longest, instead: `Reduced to ${longest} seconds, the maximum.` }
}

/**
 * `${input:token}`, `${env:TOKEN}`, `${TOKEN:-default}`: filled in by editors, but not here. `${{secrets.…}}` is ours.
 */
const placeholder = /\$\{(?!\{)([^{}]{1,200}?)(?::-[^{}]*)?\}/g

function placeholdersIn({ url, headers, command, args, env, cwd }: McpAddress): Placeholder[] {
  const values: [field: string, value: string | undefined][] = [
    ['url', url],
    ...Object.entries(headers ?? {}).map(([name, value]): [string, string] => [`headers.${name}`, value]),
    ['command', command],
    ...(args ?? []).map((value, at): [string, string] => [`args.${at}`, value]),
    ...Object.entries(env ?? {}).map(([name, value]): [string, string] => [`env.${name}`, value]),
    ['cwd', cwd],
  ]
  return values.flatMap(([field, value = '']) =>
    [...value.matchAll(placeholder)].map(([, name]) => ({ field, placeholder: `\${${name}}` })),
  )
}
