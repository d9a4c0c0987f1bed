import { Dialog as Radix } from 'radix-ui'
import { type ReactNode, useState } from 'react'
import { Failure } from '../api.ts'
import { Button, IconButton } from './button.tsx'
import { ErrorNotice } from './notice.tsx'

interface Props {
  readonly open: boolean
  readonly onClose: () => void
  readonly title: string
  readonly description?: ReactNode
  readonly children?: ReactNode
  readonly wide?: boolean
}

/** Radix's own overlay injects a style sheet, which the content security policy forbids. */
export function Dialog({ open, onClose, title, description, children, wide = false }: Props) {
  return (
    <Radix.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <div aria-hidden="true" className="fixed inset-0 z-40 bg-[#0009]" />
        <Radix.Content
          {...(description ? {} : { 'aria-describedby': undefined })}
          className={`fixed top-1/2 left-1/2 z-50 flex max-h-[90dvh] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col overflow-hidden rounded-lg border border-line bg-panel shadow-2xl ${wide ? 'max-w-3xl' : 'max-w-lg'}`}
        >
          <div className="flex items-start justify-between gap-4 px-4 pt-3 pb-2">
            <div>
              <Radix.Title className="text-lg font-semibold">{title}</Radix.Title>
              {description && <Radix.Description className="text-sm text-soft">{description}</Radix.Description>}
            </div>
            <IconButton label="Close" icon="close" onClick={onClose} />
          </div>
          <div className="overflow-y-auto px-4 pt-1 pb-4">{children}</div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** A button that asks for confirmation first. What others still use can be deleted anyway, if the platform offers that. */
export function ConfirmButton({
  label,
  variant = 'danger',
  title,
  children,
  confirm,
  onConfirm,
}: {
  label: string
  variant?: 'danger' | 'plain' | 'quiet'
  title: string
  children: ReactNode
  confirm: string
  onConfirm: (force: boolean) => Promise<unknown>
}) {
  const [isOpen, setOpen] = useState(false)
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false })
  const force = state.error instanceof Failure && typeof state.error.details.force === 'string'
  const run = async () => {
    setState({ busy: true })
    try {
      await onConfirm(force)
      setOpen(false)
      setState({ busy: false })
    } catch (error) {
      setState({ busy: false, error })
    }
  }
  return (
    <>
      <Button variant={variant} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog open={isOpen} onClose={() => setOpen(false)} title={title} description={children}>
        <ErrorNotice error={state.error} />
        <div className="mt-3 flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>Cancel</Button>
          <Button variant="danger" busy={state.busy} onClick={run}>
            {force ? 'Delete anyway' : confirm}
          </Button>
        </div>
      </Dialog>
    </>
  )
}
