import type { ReactNode } from 'react'
import { ConfirmButton } from './dialog.tsx'
import { Panel } from './panel.tsx'

/** At the end of a record's settings: doing away with it, and what that means. */
export const DeletePanel = ({
  what,
  name,
  children,
  onDelete,
}: {
  what: string
  name: string
  children: ReactNode
  onDelete: () => Promise<unknown>
}) => (
  <Panel title={`Delete the ${what}`}>
    <div className="flex flex-wrap items-center justify-between gap-3 text-sm">
      <p className="text-soft">{children}</p>
      <ConfirmButton label="Delete" title={`Delete ${name}?`} confirm={`Delete the ${what}`} onConfirm={onDelete}>
        {children} This cannot be undone.
      </ConfirmButton>
    </div>
  </Panel>
)
