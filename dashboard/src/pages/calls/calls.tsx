import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useProjectId } from '../../project.ts'
import { useKeys, useTools } from '../../queries.ts'
import type { CallSearch } from '../../router.tsx'
import { statusName } from '../../ui/badge.tsx'
import { Button, buttonClass, Row } from '../../ui/button.tsx'
import { Choice } from '../../ui/choice.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { CallList } from './list.tsx'

const statuses = ['success', 'execution_error', 'validation_error', 'permission_denied', 'rejected', 'pending']
const surfaces = ['mcp', 'rest', 'sdk', 'cli', 'web', 'agent']
const times = [
  ['', 'Any time'],
  ['15', 'Last 15 minutes'],
  ['60', 'Last hour'],
  ['1440', 'Last day'],
  ['10080', 'Last week'],
] as const

export function Calls() {
  const search = useSearch({ from: '/calls' })
  const navigate = useNavigate({ from: '/calls' })
  const { data: tools = [] } = useTools()
  const { data: keys = [] } = useKeys()
  const [minutes, setMinutes] = useState('')
  const set = (change: CallSearch) =>
    navigate({
      search: (before) =>
        Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value)) as CallSearch,
      replace: true,
    })
  const clear = () => {
    setMinutes('')
    void navigate({ search: {}, replace: true })
  }
  const apps = [...new Set(tools.map(({ app }) => app))].sort()
  const isFiltered = Object.keys(search).length > 0

  return (
    <>
      <PageHead title="Calls" actions={<Export search={search} />}>
        All tool calls, including denied ones.{' '}
        <HelpLink guide="command-line">View the call log from the command line</HelpLink>
      </PageHead>
      <search aria-label="Calls" className="mb-3 grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-6">
        <TextSearch value={search.q} onChange={(q) => set({ q })} />
        <Choice
          label="Status"
          value={search.status}
          onChange={(status) => set({ status })}
          options={statuses.map((status) => [status, statusName(status)])}
        />
        <Choice
          label="Tool"
          value={search.tool}
          onChange={(tool) => set({ tool })}
          options={[...new Set(tools.map(({ name }) => name))].sort().map((name) => [name, name])}
        />
        <Choice
          label="App"
          value={search.app}
          onChange={(app) => set({ app })}
          options={apps.map((app) => [app, app])}
        />
        <Choice
          label="Surface"
          value={search.surface}
          onChange={(surface) => set({ surface })}
          options={surfaces.map((surface) => [surface, surface])}
        />
        <Choice
          label="Caller"
          value={search.principal_id}
          onChange={(principal_id) => set({ principal_id })}
          options={keys.map(({ id, name }) => [id, name])}
        />
        <select
          aria-label="Time"
          className={`control text-sm ${minutes ? 'border-accent text-accent' : ''}`}
          value={minutes}
          onChange={(event) => {
            const { value } = event.target
            setMinutes(value)
            void set({ from: value ? new Date(Date.now() - Number(value) * 60_000).toISOString() : undefined })
          }}
        >
          {times.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </search>
      {isFiltered && (
        <div className="mb-3 flex flex-wrap items-center gap-2 text-sm text-soft">
          {search.action && (
            <span>
              action <code className="font-mono text-ink">{search.action}</code>
            </span>
          )}
          {search.from && minutes === '' && <span>from {search.from}</span>}
          {search.to && <span>until {search.to}</span>}
          <Button variant="quiet" icon="close" onClick={clear}>
            Clear filters
          </Button>
        </div>
      )}
      <CallList search={search} onClear={clear} />
    </>
  )
}

/** The delay between the last keystroke and the search. */
const pause = 300

function TextSearch({ value = '', onChange }: { value: string | undefined; onChange: (q: string) => void }) {
  const [text, setText] = useState(value)
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows the address, not each new function
  useEffect(() => {
    if (text.trim() === value) return
    const timer = setTimeout(() => onChange(text.trim()), pause)
    return () => clearTimeout(timer)
  }, [text])
  useEffect(() => setText((now) => (now.trim() === value ? now : value)), [value])
  return (
    <input
      type="search"
      aria-label="Search calls"
      placeholder="Search by action, tool, error or call ID"
      maxLength={200}
      className={`control col-span-full text-sm ${value ? 'border-accent' : ''}`}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onChange(text.trim())
      }}
    />
  )
}

/** Downloads the filtered calls. The browser sends the session's cookie with the link. */
function Export({ search }: { search: CallSearch }) {
  const projectId = useProjectId()
  const linkTo = (format: 'csv' | 'jsonl') =>
    `/api/v1/calls/export?${new URLSearchParams({ format, ...(projectId && { project_id: projectId }), ...search })}`
  return (
    <Row>
      <a href={linkTo('csv')} download="calls.csv" className={buttonClass()}>
        Export CSV
      </a>
      <a href={linkTo('jsonl')} download="calls.jsonl" className={buttonClass()}>
        Export JSON lines
      </a>
    </Row>
  )
}
