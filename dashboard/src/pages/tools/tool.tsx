import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { ask, qm, type Tool as ToolRecord } from '../../api.ts'
import { useTool } from '../../queries.ts'
import { summaryOf, typeOf, useToolTypes } from '../../tool-types.ts'
import { Badge } from '../../ui/badge.tsx'
import { DeletePanel } from '../../ui/delete-panel.tsx'
import { Answered } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { useAction } from '../../use-action.ts'
import { definitionOf, stepsIn } from '../workflows/definition.ts'
import { WorkflowGraph } from '../workflows/graph.tsx'
import { bodyOf, draftOf } from './draft.ts'
import { ToolForm } from './form.tsx'
import { Health } from './health.tsx'
import { ModelView } from './model-view.tsx'
import { TryTool } from './try.tsx'

export function Tool() {
  const { toolId } = useParams({ from: '/tools/$toolId' })
  const tool = useTool(toolId)
  return <Answered query={tool}>{(record) => <Whole key={record.id} tool={record} />}</Answered>
}

function Whole({ tool }: { tool: ToolRecord }) {
  const type = typeOf(tool, useToolTypes().data)
  const { tab = 'try' } = useSearch({ from: '/tools/$toolId' })
  const navigate = useNavigate({ from: '/tools/$toolId' })
  return (
    <>
      <PageHead title={tool.name}>
        <span className="mr-2 inline-flex flex-wrap items-center gap-1.5 align-middle">
          <Badge>{tool.type}</Badge>
          {!tool.auto_approve && <Badge tone="warn">requires approval</Badge>}
          {type?.has_health && <Health toolId={tool.id} />}
        </span>
        <code className="font-mono text-xs">{summaryOf(tool, type)}</code>
      </PageHead>
      <Tabs
        label="Tool"
        value={tab}
        onChange={(next) => navigate({ search: { tab: next === 'try' ? undefined : next }, replace: true })}
        tabs={[
          { id: 'try', label: 'Try it', content: () => <TryTool tool={tool} /> },
          ...(type?.kind === 'workflow'
            ? [{ id: 'graph', label: 'Graph', content: () => <ToolGraph tool={tool} /> }]
            : []),
          { id: 'model', label: 'What the model sees', content: () => <ModelView tool={tool} /> },
          { id: 'settings', label: 'Settings', content: () => <EditTool tool={tool} /> },
        ]}
      />
    </>
  )
}

const ToolGraph = ({ tool }: { tool: ToolRecord }) => (
  <Panel
    title="Steps"
    aside={
      <Link to="/workflows" search={{ tool_id: tool.id }} className="text-sm text-accent hover:underline">
        Runs of this workflow
      </Link>
    }
  >
    <WorkflowGraph name={tool.name} steps={stepsIn(definitionOf(tool))} />
  </Panel>
)

function EditTool({ tool }: { tool: ToolRecord }) {
  const types = useToolTypes()
  const navigate = useNavigate()
  const remove = useAction(
    (force: boolean) => ask(qm.tools.deleteTool({ path: { tool_id: tool.id }, query: { force } })),
    {
      changes: ['tools'],
      onDone: () => void navigate({ to: '/tools' }),
    },
  )
  return (
    <div className="space-y-6">
      <Answered query={types}>
        {(all) => (
          <ToolForm
            isNew={false}
            types={all}
            start={draftOf(tool, typeOf(tool, all))}
            version={tool.updated_at}
            save={(draft) => {
              const { type: _, ...body } = bodyOf(draft, typeOf(tool, all))
              return ask(qm.tools.updateTool({ path: { tool_id: tool.id }, body }))
            }}
            changes={['tool', 'tools', 'tool-actions']}
          />
        )}
      </Answered>
      <DeletePanel what="tool" name={tool.name} onDelete={remove.runAsync}>
        Calls to this tool return “not found”. Its call history is kept.
      </DeletePanel>
    </div>
  )
}
