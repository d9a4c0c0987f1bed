import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { Tool } from '../../api.ts'
import { plural } from '../../format.ts'
import { useTools } from '../../queries.ts'
import { summaryOf, typeOf, useToolTypes } from '../../tool-types.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, buttonClass } from '../../ui/button.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { Icon } from '../../ui/icon.tsx'
import { changed } from '../../ui/listing.tsx'
import { Answered, Empty } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { rowLink, Table } from '../../ui/table.tsx'
import { ImportDialog } from './import.tsx'

const maxTools = 300

export function Tools() {
  const tools = useTools()
  const { import: isImporting } = useSearch({ from: '/tools' })
  const navigate = useNavigate({ from: '/tools' })
  const [text, setText] = useState('')
  const [type, setType] = useState('')
  const importing = (open: boolean) => navigate({ search: open ? { import: true } : {} })

  return (
    <>
      <PageHead
        title="Tools"
        actions={
          <>
            <Link to="/tools/import-api" className={buttonClass()}>
              Import an API
            </Link>
            <Button onClick={() => importing(true)}>Import MCP servers</Button>
            <Link to="/tools/new" className={buttonClass('main')}>
              <Icon name="plus" />
              New tool
            </Link>
          </>
        }
      >
        What agents and applications can call. <HelpLink guide="first-tool">Guide</HelpLink>
      </PageHead>
      <Answered query={tools}>
        {(all) =>
          all.length === 0 ? (
            <Empty
              title="No tools yet"
              action={
                <>
                  <Link to="/tools/new" className={buttonClass('main')}>
                    Create a tool
                  </Link>
                  <Button onClick={() => importing(true)}>Import MCP servers</Button>
                </>
              }
            >
              Start with an HTTP endpoint, import an API from its OpenAPI document, or the MCP servers of your editor.
            </Empty>
          ) : (
            <>
              <search aria-label="Tools" className="mb-3 flex gap-2">
                <input
                  type="search"
                  aria-label="Search tools"
                  placeholder="Name, app or description"
                  className="control max-w-sm"
                  value={text}
                  onChange={(event) => setText(event.target.value)}
                />
                <select
                  aria-label="Type"
                  className="control w-auto shrink-0 text-sm"
                  value={type}
                  onChange={(event) => setType(event.target.value)}
                >
                  <option value="">Any type</option>
                  {[...new Set(all.map((tool) => tool.type))].sort().map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </select>
              </search>
              <ToolTable tools={all.filter((tool) => (type === '' || tool.type === type) && fits(tool, text))} />
            </>
          )
        }
      </Answered>
      <ImportDialog open={isImporting === true} onClose={() => importing(false)} />
    </>
  )
}

const fits = ({ name, app, description, type }: Tool, text: string) =>
  text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => `${name} ${app} ${type} ${description ?? ''}`.toLowerCase().includes(word))

function ToolTable({ tools }: { tools: readonly Tool[] }) {
  const { data: types } = useToolTypes()
  return tools.length === 0 ? (
    <Empty title="No tools found">Try fewer or other words.</Empty>
  ) : (
    <Panel flush>
      <Table
        label="Tools"
        items={tools.slice(0, maxTools)}
        columns={[
          {
            name: 'Name',
            cell: (tool) => (
              <>
                <Link to="/tools/$toolId" params={{ toolId: tool.id }} className={rowLink}>
                  {tool.name}
                </Link>
                <div className="line-clamp-1 max-w-xl text-xs break-all text-soft">
                  {tool.description ?? summaryOf(tool, typeOf(tool, types))}
                </div>
              </>
            ),
          },
          { name: 'Type', cell: ({ type }) => <Badge>{type}</Badge> },
          {
            name: 'App',
            wideOnly: true,
            cell: ({ app }) => <code className="font-mono text-xs text-soft">{app}</code>,
          },
          {
            name: 'Approval',
            wideOnly: true,
            cell: ({ auto_approve }) =>
              auto_approve ? <span className="text-soft">not required</span> : <Badge tone="warn">required</Badge>,
          },
          changed,
        ]}
      />
      {tools.length > maxTools && (
        <p className="border-t border-line px-4 py-2 text-sm text-soft">
          {plural(tools.length - maxTools, 'more tool')}. Search to narrow the list.
        </p>
      )}
    </Panel>
  )
}
