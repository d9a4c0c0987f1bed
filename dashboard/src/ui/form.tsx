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
  /** What the button says. */
  readonly label: string
  /** What is written cannot be sent yet. */
  readonly disabled?: boolean
  readonly className?: string
  readonly children: ReactNode
  onCancel?(): void
}

/** The fields of a form; then what is wrong with it, its button, and that it was saved. */
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
    <Row>
      <Button look="main" type="submit" busy={form.busy} disabled={disabled}>
        {label}
      </Button>
      {onCancel && <Button onClick={onCancel}>Cancel</Button>}
      <span role="status" className="text-sm text-good">
        {form.isSaved ? 'Saved' : ''}
      </span>
    </Row>
  </form>
)
