import { useState } from 'react'
import { ask, qm, type Tool } from '../../api.ts'
import { plural } from '../../format.ts'
import { useToolActions } from '../../queries.ts'
import { typeOf, useToolTypes } from '../../tool-types.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Answered, Empty, ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { JsonView } from '../../ui/text.tsx'
import { visible } from '../../ui/visible.ts'
import { useAction } from '../../use-action.ts'
import { DefinitionChanges } from './definition-changes.tsx'

const maxActions = 100

/** Names, description and schema as models see them, without presets. */
export function ModelView({ tool }: { tool: Tool }) {
  const actions = useToolActions(tool.id)
  const type = typeOf(tool, useToolTypes().data)
  const [text, setText] = useState('')
  const refresh = useAction(() => ask(qm.tools.refreshTool({ path: { tool_id: tool.id } })), {
    changes: ['tool', 'tool-actions', 'definition-changes', 'health'],
  })
  return (
    <Answered query={actions}>
      {(all) => {
        const found = all.filter(({ tool_name, server_tool_name, description }) =>
          `${tool_name} ${server_tool_name} ${description ?? ''}`.toLowerCase().includes(text.toLowerCase()),
        )
        const withheld = all.some((action) => action.withheld)
        if (all.length === 0) return <Empty title="No actions">This tool currently offers no actions.</Empty>
        return (
          <div className="space-y-3">
            {withheld && <DefinitionChanges tool={tool} />}
            <ErrorNotice error={refresh.error} />
            {refresh.data && (
              <p role="status" className="text-sm text-soft">
                Refreshed: {refresh.data.added.length} added, {refresh.data.changed.length} changed,{' '}
                {refresh.data.removed.length} removed.
              </p>
            )}
            <div className="flex gap-2">
              {all.length > 5 && (
                <input
                  type="search"
                  aria-label="Search actions"
                  placeholder={`Search ${plural(all.length, 'action')}`}
                  className="control max-w-sm"
                  value={text}
                  onChange={(event) => setText(event.target.value)}
                />
              )}
              {type?.refreshable && (
                <Button busy={refresh.busy} onClick={() => refresh.run()}>
                  Refresh
                </Button>
              )}
            </div>
            {found.slice(0, maxActions).map((action) => (
              <Panel
                key={action.id}
                title={<Names agent={action.tool_name} client={action.server_tool_name} />}
                aside={
                  <span className="flex gap-1.5">
                    {action.withheld && <Badge tone="warn">blocked</Badge>}
                    <Badge>{action.level}</Badge>
                  </span>
                }
              >
                <p className="mb-3 text-sm break-words whitespace-pre-line">
                  {(action.description && visible(action.description)) ?? (
                    <span className="text-soft">No description. Models see only the name.</span>
                  )}
                </p>
                <details open={all.length === 1}>
                  <summary className="mb-2 text-sm text-soft">Input schema</summary>
                  <JsonView value={action.input_schema} name={`${action.name}.json`} />
                </details>
              </Panel>
            ))}
            {found.length > maxActions && (
              <p className="text-sm text-soft">
                {plural(found.length - maxActions, 'more')}. Search to narrow the list.
              </p>
            )}
          </div>
        )
      }}
    </Answered>
  )
}

/** MCP clients see other names than agents, because a server can offer actions of several apps. */
const Names = ({ agent, client }: { agent: string; client: string }) => (
  <dl className="space-y-0.5">
    {(
      [
        ['Agents', agent],
        ['MCP clients', client],
      ] as const
    ).map(([who, name]) => (
      <div key={who} className="flex flex-wrap items-baseline gap-x-2">
        <dt className="w-20 text-xs font-normal text-soft">{who}</dt>
        <dd>
          <code className="font-mono text-sm break-all">{name}</code>
        </dd>
      </div>
    ))}
  </dl>
)
