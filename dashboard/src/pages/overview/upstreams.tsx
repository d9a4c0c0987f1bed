import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTools } from '../../queries.ts'
import { Panel } from '../../ui/panel.tsx'
import { HealthBadge, healthOf, type State } from '../tools/health.tsx'
import { aim } from '../tools/tools.tsx'

const most = 30
const order: readonly State[] = ['down', 'unknown', 'up']

/** The MCP servers that tools stand for, those in trouble first. */
export function Upstreams() {
  const { data: tools = [] } = useTools()
  const upstreams = tools.filter(({ type }) => type === 'mcp').slice(0, most)
  const states = useQueries({ queries: upstreams.map(({ id }) => healthOf(id)) })
  if (upstreams.length === 0) return null
  const rows = upstreams
    .map((tool, index) => ({ tool, health: states[index]?.data }))
    .sort((a, b) => order.indexOf(a.health?.state ?? 'unknown') - order.indexOf(b.health?.state ?? 'unknown'))
  return (
    <Panel title="MCP servers behind tools" flush>
      <ul>
        {rows.map(({ tool, health }) => (
          <li key={tool.id} className="flex items-center gap-3 border-b border-line px-4 py-2 text-sm last:border-0">
            <HealthBadge state={health?.state ?? 'unknown'} error={health?.error} />
            <Link to="/tools/$toolId" params={{ toolId: tool.id }} className="font-medium hover:text-accent">
              {tool.name}
            </Link>
            <span className="min-w-0 flex-1 truncate text-soft">{health?.error ?? aim(tool)}</span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
