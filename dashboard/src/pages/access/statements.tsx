import { useState } from 'react'
import { usePermissions } from '../../operations.ts'
import { Button, IconButton, Row } from '../../ui/button.tsx'
import { Select, TextArea } from '../../ui/field.tsx'
import { Panel } from '../../ui/panel.tsx'
import { PermissionPicker } from './permission-picker.tsx'
import { type ConditionDraft, newStatement, operators, type StatementDraft } from './statement-draft.ts'

/** Edits the statements of an access policy. */
export function StatementsEditor({
  statements,
  onChange,
}: {
  statements: readonly StatementDraft[]
  onChange: (statements: readonly StatementDraft[]) => void
}) {
  const { data: permissions = [] } = usePermissions()
  // Removing a statement must not pass its unfinished fields on to the next one.
  const [keys, setKeys] = useState(() => statements.map((_, index) => index))
  const nextKey = Math.max(-1, ...keys) + 1
  return (
    <div className="space-y-3">
      {statements.map((statement, index) => (
        <Panel
          key={keys[index]}
          title={`Statement ${index + 1}`}
          aside={
            statements.length > 1 && (
              <Button
                variant="quiet"
                onClick={() => {
                  setKeys(keys.toSpliced(index, 1))
                  onChange(statements.toSpliced(index, 1))
                }}
              >
                Remove
              </Button>
            )
          }
        >
          <StatementFields
            statement={statement}
            permissions={permissions}
            onChange={(next) => onChange(statements.with(index, next))}
          />
        </Panel>
      ))}
      <Button
        icon="plus"
        onClick={() => {
          setKeys([...keys, nextKey])
          onChange([...statements, newStatement])
        }}
      >
        Add a statement
      </Button>
    </div>
  )
}

function StatementFields({
  statement,
  permissions,
  onChange,
}: {
  statement: StatementDraft
  permissions: readonly string[]
  onChange: (statement: StatementDraft) => void
}) {
  const [resources, setResources] = useState(statement.resource.join('\n'))
  return (
    <div className="space-y-4">
      <Select
        label="Effect"
        value={statement.effect}
        onChange={(event) => onChange({ ...statement, effect: event.target.value as StatementDraft['effect'] })}
        options={[
          ['Allow', 'Allow'],
          ['Deny', 'Deny (wins over any Allow)'],
        ]}
      />
      <PermissionPicker
        permissions={permissions}
        chosen={statement.action}
        onChange={(action) => onChange({ ...statement, action })}
      />
      <TextArea
        label="Resources"
        mono
        rows={2}
        value={resources}
        onChange={(event) => {
          setResources(event.target.value)
          const lines = event.target.value.split('\n').map((line) => line.trim())
          onChange({ ...statement, resource: lines.filter(Boolean) })
        }}
        hint={
          <>
            One per line: <code className="font-mono">*</code> for everything, or{' '}
            <code className="font-mono">qm:project:kind:id</code>, where each part may be{' '}
            <code className="font-mono">*</code>
          </>
        }
      />
      <Conditions conditions={statement.condition} onChange={(condition) => onChange({ ...statement, condition })} />
    </div>
  )
}

const operatorNames: Record<ConditionDraft['operator'], string> = {
  StringEquals: 'equals',
  StringNotEquals: 'does not equal',
  StringLike: 'matches pattern',
}

interface ConditionRow {
  readonly operator: ConditionDraft['operator']
  readonly key: string
  readonly values: string
}

const isWhole = ({ key, values }: ConditionRow) => key.trim() !== '' && values.trim() !== ''
const draftOf = ({ operator, key, values }: ConditionRow): ConditionDraft => ({
  operator,
  key: key.trim(),
  values: values
    .split(',')
    .map((value) => value.trim())
    .filter(Boolean),
})

/** Keeps incomplete rows until they are valid. */
function Conditions({
  conditions,
  onChange,
}: {
  conditions: readonly ConditionDraft[]
  onChange: (conditions: readonly ConditionDraft[]) => void
}) {
  const [rows, setRows] = useState<readonly ConditionRow[]>(() =>
    conditions.map(({ operator, key, values }) => ({ operator, key, values: values.join(', ') })),
  )
  const set = (next: readonly ConditionRow[]) => {
    setRows(next)
    onChange(next.filter(isWhole).map(draftOf))
  }
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm font-medium">Conditions</legend>
      <div className="space-y-1.5">
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows are identified by their position
          <div key={index} className="flex flex-wrap gap-1.5 sm:flex-nowrap">
            <input
              aria-label={`Condition ${index + 1}: attribute`}
              list="condition-attributes"
              className="control w-full font-mono text-sm sm:w-2/5"
              placeholder="qm:ResourceTag/team"
              value={row.key}
              onChange={(event) => set(rows.with(index, { ...row, key: event.target.value }))}
            />
            <select
              aria-label={`Condition ${index + 1}: operator`}
              className="control w-auto shrink-0 text-sm"
              value={row.operator}
              onChange={(event) =>
                set(rows.with(index, { ...row, operator: event.target.value as ConditionDraft['operator'] }))
              }
            >
              {operators.map((operator) => (
                <option key={operator} value={operator}>
                  {operatorNames[operator]}
                </option>
              ))}
            </select>
            <input
              aria-label={`Condition ${index + 1}: values`}
              className="control min-w-0 flex-1 font-mono text-sm"
              placeholder="support, sales"
              value={row.values}
              onChange={(event) => set(rows.with(index, { ...row, values: event.target.value }))}
            />
            <IconButton
              label={`Remove condition ${index + 1}`}
              icon="close"
              onClick={() => set(rows.toSpliced(index, 1))}
            />
          </div>
        ))}
        <datalist id="condition-attributes">
          <option value="qm:ResourceType" />
          <option value="qm:ResourceTag/" />
        </datalist>
        <Row>
          <Button icon="plus" onClick={() => setRows([...rows, { operator: 'StringEquals', key: '', values: '' }])}>
            Add a condition
          </Button>
        </Row>
      </div>
      <p className="mt-1 text-xs text-soft">
        Optional. The statement applies only if all conditions hold. Separate several values with commas.
      </p>
    </fieldset>
  )
}
