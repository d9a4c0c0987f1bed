import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useKeys, useTools } from '../../queries.ts'
import type { CallSearch } from '../../router.tsx'
import { statusName } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Choice } from '../../ui/choice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { CallList } from './list.tsx'

const statuses = ['success', 'execution_error', 'validation_error', 'permission_denied', 'rejected', 'pending']
const surfaces = ['mcp', 'rest', 'sdk', 'cli', 'web', 'agent', 'xml', 'workflow']
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
  const apps = [...new Set(tools.map(({ app }) => app))].sort()

  return (
    <>
      <PageHead title="Calls">Every call that came to the door, also those that were turned away.</PageHead>
      <search aria-label="Calls" className="mb-3 grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-6">
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
          label="Who"
          value={search.principal_id}
          onChange={(principal_id) => set({ principal_id })}
          options={keys.map(({ id, name }) => [id, name])}
        />
        <select
          aria-label="Time"
          className="control text-sm"
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
      {(search.action || search.to || (search.from && minutes === '')) && (
        <div className="mb-3 flex flex-wrap items-center gap-2 text-sm text-soft">
          {search.action && (
            <span>
              action <code className="font-mono text-ink">{search.action}</code>
            </span>
          )}
          {search.from && minutes === '' && <span>from {search.from}</span>}
          {search.to && <span>until {search.to}</span>}
          <Button look="quiet" icon="close" onClick={() => set({ action: undefined, from: undefined, to: undefined })}>
            Clear
          </Button>
        </div>
      )}
      <CallList search={search} />
    </>
  )
}
