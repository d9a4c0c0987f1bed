import type { ReactNode } from 'react'
import { ConfirmButton } from './dialog.tsx'
import { Panel } from './panel.tsx'

/** Deletes a record, at the end of its settings. */
export const DeletePanel = ({
  what,
  name,
  children,
  onDelete,
}: {
  what: string
  name: string
  children: ReactNode
  onDelete: (force: boolean) => Promise<unknown>
}) => (
  <Panel title={`Delete ${what}`}>
    <div className="flex flex-wrap items-center justify-between gap-3 text-sm">
      <p className="text-soft">{children}</p>
      <ConfirmButton label="Delete" title={`Delete ${name}?`} confirm={`Delete ${what}`} onConfirm={onDelete}>
        {children} This cannot be undone.
      </ConfirmButton>
    </div>
  </Panel>
)
