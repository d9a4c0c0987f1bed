import { Link, useRouterState } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { has } from '../../api.ts'
import { LiveMark } from '../../ui/live.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { useApprovalsLive } from '../../waiting.ts'

const link = 'tab data-here:border-accent data-here:text-ink'

/** The head that the pages about approvals share. */
export function Sections({ actions, children }: { actions?: ReactNode; children: ReactNode }) {
  const live = useApprovalsLive()
  const path = useRouterState({ select: (state) => state.location.pathname })
  const here = /^\/approvals\/(history|rules)/.exec(path)?.[1] ?? 'waiting'
  return (
    <>
      <PageHead
        title="Approvals"
        actions={
          <>
            <LiveMark state={live} />
            {actions}
          </>
        }
      >
        Calls that wait until a person has looked at them.
      </PageHead>
      <nav aria-label="Approvals" className="tab-list mb-4">
        <Link
          to="/approvals/{-$approvalId}"
          params={{ approvalId: undefined }}
          data-here={here === 'waiting' || undefined}
          className={link}
        >
          Waiting
        </Link>
        <Link to="/approvals/history" data-here={here === 'history' || undefined} className={link}>
          History
        </Link>
        {has('approvalRules') && (
          <Link to="/approvals/rules" data-here={here === 'rules' || undefined} className={link}>
            Rules
          </Link>
        )}
      </nav>
      {children}
    </>
  )
}
