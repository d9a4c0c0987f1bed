import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { Approval } from '../../api.ts'
import { useToolActions } from '../../queries.ts'
import { SchemaForm } from '../../schema-form/form.tsx'
import type { Schema } from '../../schema-form/schema.ts'
import { Button, Row } from '../../ui/button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Loading } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useKeys } from '../../use-keys.ts'
import { changesBetween } from './changes.ts'
import { Diff } from './diff.tsx'

interface Props {
  readonly approval: Approval
  readonly busy: boolean
  readonly error: ReactNode
  onApprove(input: Record<string, unknown>, reason: string): void
  onCancel(): void
  /** Clears the error of the last attempt. */
  onChange(): void
}

/** Edits the arguments in place, with a form if the reviewer may read the schema of the action, else as JSON. */
export function Edit({ approval, busy, error, onApprove, onCancel, onChange }: Props) {
  const before = approval.edited_input ?? approval.input
  const actions = useToolActions(approval.tool_id)
  const schema = actions.data?.find(({ id }) => id === approval.action)?.input_schema as Schema | undefined
  const [draft, setDraft] = useState<Record<string, unknown> | undefined>(before)
  const [reason, setReason] = useState('')
  const form = useRef<HTMLFormElement>(null)
  const set = (next: Record<string, unknown> | undefined) => {
    setDraft(next)
    onChange()
  }
  const changes = draft === undefined ? [] : changesBetween(before, draft)
  const hasHidden = JSON.stringify(before).includes('[redacted]')
  // Shortcuts are off, so that no key discards unfinished edits.
  useKeys({ Escape: onCancel, Enter: null, j: null, k: null, ArrowUp: null, ArrowDown: null })

  const isReady = !actions.isLoading
  useEffect(() => {
    if (isReady) form.current?.querySelector<HTMLElement>('input, textarea, select')?.focus()
  }, [isReady])

  if (!isReady) return <Loading />
  return (
    <Panel title="Edit arguments">
      <form
        ref={form}
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (draft && changes.length > 0) onApprove(draft, reason.trim())
        }}
        onKeyDown={(event) => {
          // The first Escape leaves the field, the second closes the form.
          if (event.key === 'Escape' && event.target instanceof HTMLElement && event.target !== event.currentTarget) {
            event.stopPropagation()
            event.target.blur()
          }
        }}
      >
        <SchemaForm schema={schema ?? {}} value={draft ?? before} onChange={set} />
        {hasHidden && (
          <p className="text-xs text-soft">
            Values shown as <code className="font-mono">[redacted]</code> are hidden from you. Leave them as they are to
            keep the original value.
          </p>
        )}
        <div className="border-t border-line pt-3">
          <h3 className="mb-2">Your changes</h3>
          {draft === undefined ? (
            <p className="text-sm text-soft">Invalid JSON.</p>
          ) : changes.length === 0 ? (
            <p className="text-sm text-soft">No changes yet.</p>
          ) : (
            <Diff label="Your changes" changes={changes} />
          )}
        </div>
        <TextField
          label="Reason"
          maxLength={2000}
          spellCheck
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          hint="Saved with the decision"
        />
        {error}
        <Row className="justify-end">
          <Button onClick={onCancel}>Cancel</Button>
          <Button variant="main" type="submit" busy={busy} disabled={draft === undefined || changes.length === 0}>
            Approve with these changes
          </Button>
        </Row>
      </form>
    </Panel>
  )
}
