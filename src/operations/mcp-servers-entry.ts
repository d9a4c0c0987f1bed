import { z } from 'zod'
import { isObject } from '../lib/json.ts'
import type { McpAddress } from '../model/tool.ts'

/** One entry of an `mcpServers` file. What editors and assistants have beside these is looked at by name. */
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

/** Described as an entry, and taken as it comes: one that is none is skipped, and the others of the file are not. */
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

/** What an entry says, in our words, and what of it we have no words for. */
export interface ReadEntry {
  readonly mcp: McpAddress
  readonly description: string | null
  readonly auto_approve: boolean | null
  readonly timeout_seconds: number | null
  readonly notTakenOver: readonly NotTakenOver[]
  readonly toFillIn: readonly Placeholder[]
}

/** Why there is nothing to register, where that is as the file wants it. */
export function reasonToLeaveOut(entry: unknown): string | undefined {
  if (!isObject(entry)) return undefined
  if (entry.disabled === true || entry.enabled === false) return 'It is disabled in the file.'
  return Object.keys(entry).length === 0 ? 'It is empty in the file.' : undefined
}

const ofAddress = ['url', 'serverUrl', 'httpUrl', 'headers']
const ofProgram = ['command', 'args', 'env', 'cwd']
/** Read elsewhere, or they say how to reach it, which is found out. */
const readAlready = new Set(['type', 'transport', 'transportType', 'disabled', 'enabled', 'description', 'required'])
const approving = new Set(['autoApprove', 'alwaysAllow', 'trust'])
const leavingOut = new Set(['disabledTools', 'disabled_tools', 'excludeTools'])
const keeping = new Set(['allowedTools', 'includeTools', 'enabledTools', 'enabled_tools', 'tools'])

export function readEntry(toolName: string, entry: Entry): ReadEntry {
  const address = entry.url ?? entry.serverUrl ?? entry.httpUrl
  const { headers, command, args, env, cwd, required } = entry
  const given = address === undefined ? { command, args, env, cwd, required } : { url: address, headers, required }
  const mcp = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as McpAddress
  const approvals: boolean[] = []
  const notTakenOver: NotTakenOver[] = []
  let timeout: number | null = null
  for (const [field, value] of Object.entries(entry)) {
    const leave = (instead: string) => notTakenOver.push({ field: field.slice(0, 200), instead })
    if (readAlready.has(field)) continue
    if (approving.has(field)) {
      const { approves, instead } = readApproving(toolName, value)
      approvals.push(approves)
      if (instead) leave(instead)
    } else if (leavingOut.has(field) || keeping.has(field)) {
      if (isEverything(value, leavingOut.has(field))) continue
      // Offered as they are, they must not run as they are.
      approvals.push(false)
      leave(limitInstead)
    } else if (field === 'timeout') {
      const { seconds, instead } = readTimeout(value)
      timeout = seconds
      if (instead) leave(instead)
    } else if (ofAddress.includes(field)) {
      if (address === undefined) leave('It is for servers with an address, and this one is a program.')
    } else if (ofProgram.includes(field)) {
      if (address !== undefined) leave('It is for programs, and this server has an address.')
    } else {
      leave('It is not known here: see what the server does without it.')
    }
  }
  return {
    mcp,
    description: entry.description ?? null,
    auto_approve: approvals.length === 0 ? null : approvals.every(Boolean),
    timeout_seconds: timeout,
    notTakenOver,
    toFillIn: placeholdersIn(mcp),
  }
}

const limitInstead =
  'All of its tools are there, so a person decides on each call. List those that may be used in "actions" of its app on a server, and then turn auto_approve on.'

const isEverything = (value: unknown, leavesOut: boolean): boolean =>
  Array.isArray(value) && (leavesOut ? value.length === 0 : value.includes('*'))

/** More than the file lets run without a question must not run without one. */
function readApproving(toolName: string, value: unknown): { approves: boolean; instead?: string } {
  if (value === true || (Array.isArray(value) && value.includes('*'))) return { approves: true }
  if (value === false || (Array.isArray(value) && value.length === 0)) return { approves: false }
  const rule = `tool.name == ${JSON.stringify(toolName)} && !(action.name in ${JSON.stringify(value)})`
  const isRule = Array.isArray(value) && value.every((one) => typeof one === 'string') && rule.length <= 4000
  const asks = 'A person decides on each call.'
  if (!isRule) return { approves: false, instead: `${asks} Turn auto_approve on where that is not needed.` }
  return {
    approves: false,
    instead: `${asks} To be asked only about the others, create an approval rule, and then turn auto_approve on: ${rule}`,
  }
}

const longest = 300

/** Most clients count seconds and some milliseconds, of which nobody gives a thousand or less. */
function readTimeout(value: unknown): { seconds: number | null; instead?: string } {
  if (typeof value !== 'number' || !(value > 0)) {
    return { seconds: null, instead: 'It is no number of seconds: set timeout_seconds; it is 60 until then.' }
  }
  const seconds = value > 1000 ? value / 1000 : value
  if (seconds <= longest) return { seconds }
  return { seconds: longest, instead: `A call may take at most ${longest} seconds, which is what is set.` }
}

/** `${input:token}`, `${env:TOKEN}`, `${TOKEN:-default}`: an editor fills them in, and nobody does here. Secrets are ours. */
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
