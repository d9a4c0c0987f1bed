import { Fragment, type ReactNode } from 'react'
import { Button, Row } from './button.tsx'
import { ErrorNotice } from './notice.tsx'

interface Props {
  readonly form: {
    submit(): void
    readonly busy: boolean
    readonly error: unknown
    readonly isSaved: boolean
    readonly round: number
  }
  /** The label of the submit button. */
  readonly label: string
  /** Whether the draft is not valid yet. */
  readonly disabled?: boolean
  readonly className?: string
  readonly children: ReactNode
  onCancel?(): void
}

/** A form with its fields, errors and buttons. With `onCancel`, as in a dialog, the main button is on the right. */
export const Form = ({ form, label, disabled = false, className = '', children, onCancel }: Props) => (
  <form
    className={`space-y-4 ${className}`}
    onSubmit={(event) => {
      event.preventDefault()
      form.submit()
    }}
  >
    <Fragment key={form.round}>{children}</Fragment>
    <ErrorNotice error={form.error} />
    <Row className={onCancel ? 'justify-end' : ''}>
      {onCancel && <Button onClick={onCancel}>Cancel</Button>}
      <Button variant="main" type="submit" busy={form.busy} disabled={disabled}>
        {label}
      </Button>
      <span role="status" className="text-sm text-good empty:hidden">
        {form.isSaved ? 'Saved' : ''}
      </span>
    </Row>
  </form>
)
