import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ask, qm, type Tool } from '../../api.ts'
import { useTools } from '../../queries.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Panel } from '../../ui/panel.tsx'

const most = 30
const tones: Record<string, Tone> = { up: 'good', down: 'bad', unknown: 'plain' }
const order = ['down', 'unknown', 'up']

/** The MCP servers that tools stand for, those in trouble first. */
export function Upstreams() {
  const { data: tools = [] } = useTools()
  const upstreams = tools.filter(({ type }) => type === 'mcp').slice(0, most)
  const states = useQueries({
    queries: upstreams.map(({ id }) => ({
      queryKey: ['health', id],
      queryFn: () => ask(qm.tools.getToolHealth({ path: { tool_id: id } })),
      refetchInterval: 15_000,
    })),
  })
  if (upstreams.length === 0) return null
  const rows = upstreams
    .map((tool, index) => ({ tool, health: states[index]?.data }))
    .sort((a, b) => order.indexOf(a.health?.state ?? 'unknown') - order.indexOf(b.health?.state ?? 'unknown'))
  return (
    <Panel title="MCP servers behind tools" flush>
      <ul>
        {rows.map(({ tool, health }) => (
          <li key={tool.id} className="flex items-center gap-3 border-b border-line px-4 py-2 text-sm last:border-0">
            <Badge tone={tones[health?.state ?? 'unknown'] ?? 'plain'}>{wordFor(health?.state)}</Badge>
            <Link to="/tools/$toolId" params={{ toolId: tool.id }} className="font-medium hover:text-accent">
              {tool.name}
            </Link>
            <span className="min-w-0 flex-1 truncate text-soft">{health?.error ?? addressOf(tool)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

const wordFor = (state: string | undefined) => (state === undefined || state === 'unknown' ? 'not used yet' : state)
const addressOf = ({ mcp }: Tool) => mcp?.url ?? [mcp?.command, ...(mcp?.args ?? [])].join(' ')
