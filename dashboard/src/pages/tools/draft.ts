import type { Body, Tool } from '../../api.ts'
import { fromPairs, type Pairs, toPairs } from '../../ui/pairs.tsx'

const types = ['http', 'mcp', 'client', 'platform'] as const
export type ToolType = (typeof types)[number]

/** A tool while it is written. */
export interface Draft {
  readonly name: string
  readonly type: ToolType
  readonly description: string
  readonly app: string
  readonly level: Tool['level']
  readonly approval: 'level' | 'never' | 'always'
  readonly asksDestructive: boolean
  /** Seconds that a person has to decide. */
  readonly decideIn: string
  readonly timeout: string
  readonly method: string
  readonly url: string
  readonly headers: Pairs
  /** What of the request the form does not show. */
  readonly request: object
  readonly runs: 'address' | 'program'
  readonly command: string
  readonly args: string
  readonly env: Pairs
  readonly cwd: string
  readonly pinned: boolean
  readonly required: boolean
  readonly actions: readonly string[]
  /** Undefined while what is typed is not JSON. */
  readonly parameters: unknown
  readonly presets: unknown
}

export const emptyDraft: Draft = {
  name: '',
  type: 'http',
  description: '',
  app: '',
  level: 'open',
  approval: 'level',
  asksDestructive: false,
  decideIn: '',
  timeout: '',
  method: 'GET',
  url: '',
  headers: [],
  request: {},
  runs: 'address',
  command: '',
  args: '',
  env: [],
  cwd: '',
  pinned: false,
  required: false,
  actions: [],
  parameters: { type: 'object', properties: {} },
  presets: null,
}

/** A tool is shown with the name of its type that it was registered with; `soat` is another one for `platform`. */
export const typeOf = ({ type }: Pick<Tool, 'type'>): ToolType => (type === 'soat' ? 'platform' : type) as ToolType

export const isMany = (tool: Pick<Tool, 'type'>) => ['mcp', 'platform'].includes(typeOf(tool))

export const draftOf = (tool: Tool): Draft => ({
  ...emptyDraft,
  name: tool.name,
  type: typeOf(tool),
  description: tool.description ?? '',
  app: tool.app === (isMany(tool) ? tool.name.toLowerCase() : 'tools') ? '' : tool.app,
  level: tool.level,
  approval: tool.auto_approve === (tool.level === 'open') ? 'level' : tool.auto_approve ? 'never' : 'always',
  asksDestructive: tool.ask_destructive,
  decideIn: tool.approval_timeout_seconds === null ? '' : String(tool.approval_timeout_seconds),
  timeout: tool.timeout_seconds === null ? '' : String(tool.timeout_seconds),
  method: tool.execute?.method ?? 'GET',
  url: tool.execute?.url ?? tool.mcp?.url ?? '',
  request: tool.execute ?? {},
  headers: toPairs(tool.execute?.headers ?? tool.mcp?.headers),
  runs: tool.mcp?.command === undefined ? 'address' : 'program',
  command: tool.mcp?.command ?? '',
  args: (tool.mcp?.args ?? []).join('\n'),
  env: toPairs(tool.mcp?.env),
  cwd: tool.mcp?.cwd ?? '',
  pinned: tool.pin_definitions,
  required: tool.mcp?.required ?? false,
  actions: tool.actions ?? [],
  parameters: tool.parameters,
  presets: tool.preset_parameters,
})

/** What is sent: only what the type has, so that nothing of another type is left behind. */
export function bodyOf(draft: Draft): Body<'tools', 'createTool'> {
  const { type } = draft
  const describes = type === 'http' || type === 'client'
  const common = {
    name: draft.name.trim(),
    type,
    description: draft.description.trim() || null,
    app: draft.app.trim() || null,
    level: draft.level,
    auto_approve: draft.approval === 'level' ? null : draft.approval === 'never',
    ask_destructive: draft.asksDestructive,
    approval_timeout_seconds: draft.decideIn.trim() === '' ? null : Number(draft.decideIn),
    timeout_seconds: draft.timeout.trim() === '' ? null : Number(draft.timeout),
    preset_parameters: (draft.presets ?? null) as Record<string, unknown> | null,
  }
  // Of a type that this form does not know, it leaves alone what it does not show.
  if (!types.includes(type)) return common
  return {
    ...common,
    parameters: describes ? ((draft.parameters ?? null) as Record<string, unknown> | null) : null,
    execute:
      type === 'http'
        ? { ...draft.request, url: draft.url.trim(), method: draft.method as 'GET', headers: fromPairs(draft.headers) }
        : null,
    mcp: type === 'mcp' ? addressOf(draft) : null,
    actions: type === 'platform' ? [...draft.actions] : null,
    ...(type === 'mcp' && { pin_definitions: draft.pinned }),
  }
}

function addressOf(draft: Draft) {
  const required = draft.required && { required: true }
  if (draft.runs === 'address') return { url: draft.url.trim(), headers: fromPairs(draft.headers), ...required }
  const args = draft.args.split('\n').filter((line) => line !== '')
  const cwd = draft.cwd.trim()
  return { command: draft.command.trim(), args, env: fromPairs(draft.env), ...(cwd && { cwd }), ...required }
}
