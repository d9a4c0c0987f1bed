import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTools } from '../../queries.ts'
import { summaryOf, typeOf, useToolTypes } from '../../tool-types.ts'
import { Panel } from '../../ui/panel.tsx'
import { HealthBadge, healthOf, type State } from '../tools/health.tsx'

const maxUpstreams = 30
const order: readonly State[] = ['down', 'unknown', 'up']

/** The upstream systems of all tools. Failing ones come first. */
export function Upstreams() {
  const { data: tools = [] } = useTools()
  const { data: types } = useToolTypes()
  const upstreams = tools.filter((tool) => typeOf(tool, types)?.has_health).slice(0, maxUpstreams)
  const states = useQueries({ queries: upstreams.map(({ id }) => healthOf(id)) })
  if (upstreams.length === 0) return null
  const rows = upstreams
    .map((tool, index) => ({ tool, health: states[index]?.data }))
    .sort((a, b) => order.indexOf(a.health?.state ?? 'unknown') - order.indexOf(b.health?.state ?? 'unknown'))
  return (
    <Panel title="Upstream MCP servers" flush>
      <ul>
        {rows.map(({ tool, health }) => (
          <li key={tool.id} className="flex items-center gap-3 border-b border-line px-4 py-2 text-sm last:border-0">
            <HealthBadge state={health?.state ?? 'unknown'} error={health?.error} />
            <Link to="/tools/$toolId" params={{ toolId: tool.id }} className="font-medium hover:text-accent">
              {tool.name}
            </Link>
            <span className="min-w-0 flex-1 truncate text-soft">
              {health?.error ?? summaryOf(tool, typeOf(tool, types))}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
