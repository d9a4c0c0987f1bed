import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { plural } from '../../format.ts'
import { useTools } from '../../queries.ts'
import { typeOf, useToolTypes } from '../../tool-types.ts'
import { Choice } from '../../ui/choice.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { definitionOf, stepsIn } from './definition.ts'
import { RunList } from './runs.tsx'
import { runStatuses } from './status.tsx'

const kinds = [
  ['workflow', 'Workflows'],
  ['code', 'Programs'],
] as const

export function Workflows() {
  const search = useSearch({ from: '/workflows' })
  const navigate = useNavigate({ from: '/workflows' })
  const { data: types } = useToolTypes()
  const { data: tools = [] } = useTools()
  const workflows = tools.filter((tool) => typeOf(tool, types)?.kind === 'workflow')
  const set = (change: typeof search) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  return (
    <>
      <PageHead title="Workflows">
        Several calls as one tool, and the programs of code mode. Runs survive restarts.{' '}
        <HelpLink guide="workflows">Write a workflow</HelpLink>
      </PageHead>
      {workflows.length > 0 && (
        <div className="mb-4">
          <Panel title="Workflows" flush>
            <ul>
              {workflows.map((tool) => (
                <li
                  key={tool.id}
                  className="relative flex flex-wrap items-center gap-x-3 border-b border-line px-4 py-2 text-sm last:border-0 hover:bg-hover"
                >
                  <Link
                    to="/tools/$toolId"
                    params={{ toolId: tool.id }}
                    search={{ tab: 'graph' }}
                    className="font-medium after:absolute after:inset-0 hover:text-accent"
                  >
                    {tool.name}
                  </Link>
                  <span className="min-w-0 truncate text-soft">{tool.description}</span>
                  <span className="ml-auto text-xs text-soft">
                    {plural(stepsIn(definitionOf(tool)).length, 'step')}
                  </span>
                </li>
              ))}
            </ul>
          </Panel>
        </div>
      )}
      <search aria-label="Runs" className="mb-3 grid grid-cols-2 gap-2 sm:flex">
        <Choice
          className="sm:w-56"
          label="Workflow"
          value={search.tool_id}
          options={workflows.map(({ id, name }) => [id, name] as const)}
          onChange={(tool_id) => set({ tool_id })}
        />
        <Choice
          className="sm:w-44"
          label="Status"
          value={search.status}
          options={runStatuses.map(([id, name]) => [id, name] as const)}
          onChange={(status) => set({ status })}
        />
        <Choice
          className="sm:w-44"
          label="Kind"
          value={search.kind}
          options={kinds}
          onChange={(kind) => set({ kind })}
        />
      </search>
      <RunList search={search} />
    </>
  )
}
