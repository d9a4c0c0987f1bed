import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Action, Tool } from '../../api.ts'
import { duration } from '../../format.ts'
import { useToolActions } from '../../queries.ts'
import { SchemaForm } from '../../schema-form/form.tsx'
import { type Schema, startOf } from '../../schema-form/schema.ts'
import { useToolCall } from '../../tool-call.ts'
import { typeOf, useToolTypes } from '../../tool-types.ts'
import { ApprovalWait } from '../../ui/approval-wait.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Select } from '../../ui/field.tsx'
import { Answered, Empty, ErrorNotice } from '../../ui/notice.tsx'
import { OutputView } from '../../ui/output.tsx'
import { Panel } from '../../ui/panel.tsx'

export function TryTool({ tool }: { tool: Tool }) {
  const types = useToolTypes()
  const type = typeOf(tool, types.data)
  const isLocal = type?.callable === false
  const actions = useToolActions(tool.id, types.isSuccess && !isLocal)
  const [chosen, setChosen] = useState('')
  if (isLocal) {
    return (
      <Empty title="This tool runs in your application">
        You cannot run a client tool here. When a model calls it, the application that runs the agent receives the call.
      </Empty>
    )
  }
  return (
    <Answered query={actions}>
      {(all) => {
        const action = all.find(({ id }) => id === chosen) ?? all[0]
        if (!action) return <Empty title="No actions">This tool currently offers no actions.</Empty>
        return (
          <div className="space-y-4">
            {all.length > 1 && (
              <Select
                label="Action"
                value={action.id}
                onChange={(event) => setChosen(event.target.value)}
                options={all.map(({ id, name }) => [id, name] as const)}
                hint={action.description ?? undefined}
              />
            )}
            <TryAction key={action.id} tool={tool} action={action} isOne={type?.many_actions === false} />
          </div>
        )
      }}
    </Answered>
  )
}

function TryAction({ tool, action, isOne }: { tool: Tool; action: Action; isOne: boolean }) {
  const schema = action.input_schema as Schema
  const [input, setInput] = useState<Record<string, unknown> | undefined>(
    () => (startOf(schema, schema) ?? {}) as Record<string, unknown>,
  )
  const call = useToolCall(['overview'])
  const { answer, waits } = call
  const isFailure = (answer?.output as { isError?: boolean } | undefined)?.isError === true
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Panel title="Input">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            call.run({ toolId: tool.id, body: { input, ...(!isOne && { action: action.name }) } })
          }}
          className="space-y-4"
        >
          <SchemaForm schema={schema} value={input ?? {}} onChange={setInput} />
          <Button variant="main" type="submit" busy={call.busy} disabled={input === undefined}>
            Run
          </Button>
        </form>
      </Panel>
      <Panel
        title="Output"
        aside={
          answer && (
            <span className="flex items-center gap-2 text-sm text-soft">
              {isFailure && <Badge tone="bad">the tool reported an error</Badge>}
              {duration(answer.took)}
            </span>
          )
        }
      >
        <div aria-live="polite" className="space-y-3">
          {call.busy && <p className="text-sm text-soft">Running…</p>}
          {!call.busy && <ErrorNotice error={call.error} />}
          {waits && !call.busy && <ApprovalWait {...waits} />}
          {!call.busy && answer && <OutputView value={answer.output} />}
          {!call.busy && !answer && !waits && !call.error && (
            <p className="text-sm text-soft">This makes a real, logged call.</p>
          )}
          <p className="text-sm">
            <Link to="/calls" search={{ tool: tool.name }} className="text-accent hover:underline">
              Call history
            </Link>
          </p>
        </div>
      </Panel>
    </div>
  )
}
