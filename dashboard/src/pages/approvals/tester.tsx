import { useState } from 'react'
import { ask, has, qm } from '../../api.ts'
import { useToolActions, useTools } from '../../queries.ts'
import { SchemaForm } from '../../schema-form/form.tsx'
import { type Schema, startOf } from '../../schema-form/schema.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, Row } from '../../ui/button.tsx'
import { Select } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'

/** Tests the condition against a sample call. */
export function RuleTester({ expression }: { expression: string }) {
  const { data: tools = [] } = useTools()
  const [chosen, setChosen] = useState('')
  const toolId = chosen || (tools[0]?.id ?? '')
  const { data: actions = [] } = useToolActions(toolId, toolId !== '')
  const [chosenAction, setAction] = useState('')
  const action = actions.find(({ id }) => id === chosenAction) ?? actions[0]
  if (!has('approvalRules') || tools.length === 0) return null
  return (
    <Panel title="Test">
      <div className="space-y-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Select
            label="Tool"
            value={toolId}
            onChange={(event) => setChosen(event.target.value)}
            options={tools.map(({ id, name }) => [id, name] as const)}
          />
          {actions.length > 1 && (
            <Select
              label="Action"
              value={action?.id ?? ''}
              onChange={(event) => setAction(event.target.value)}
              options={actions.map(({ id, name }) => [id, name] as const)}
            />
          )}
        </div>
        {action && (
          <Sample
            key={action.id}
            expression={expression}
            toolId={toolId}
            action={action.id}
            schema={action.input_schema as Schema}
          />
        )}
      </div>
    </Panel>
  )
}

function Sample({
  expression,
  toolId,
  action,
  schema,
}: {
  expression: string
  toolId: string
  action: string
  schema: Schema
}) {
  const [input, setInput] = useState<Record<string, unknown> | undefined>(
    () => (startOf(schema, schema) ?? {}) as Record<string, unknown>,
  )
  const test = useAction(() =>
    ask(qm.approvalRules.testApprovalRule({ body: { expression, tool_id: toolId, action, input: input ?? {} } })),
  )
  return (
    <>
      <SchemaForm schema={schema} value={input ?? {}} onChange={setInput} />
      <Row>
        <Button busy={test.busy} disabled={input === undefined || expression.trim() === ''} onClick={() => test.run()}>
          Test rule
        </Button>
        <span role="status" className="flex flex-wrap items-center gap-2 text-sm">
          {test.data && !test.busy && (
            <>
              <Badge tone={test.data.asks ? 'accent' : 'plain'}>
                {test.data.asks ? 'requires approval' : 'does not match'}
              </Badge>
              {test.data.fault && (
                <span className="text-warn">The rule could not be evaluated for this call: {test.data.fault}</span>
              )}
            </>
          )}
        </span>
      </Row>
      <ErrorNotice error={test.error} />
    </>
  )
}
