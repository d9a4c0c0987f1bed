import { Link, useRouterState } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { has } from '../../api.ts'
import { useApprovalsLive } from '../../pending-approvals.ts'
import { HelpLink } from '../../ui/help-link.tsx'
import { LiveMark } from '../../ui/live.tsx'
import { PageHead } from '../../ui/panel.tsx'

const link = 'tab data-here:border-accent data-here:text-ink'

/** The header of all approval pages. */
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
        Calls that run only after someone approves them. <HelpLink guide="approvals">Guide</HelpLink>
      </PageHead>
      <nav aria-label="Approvals" className="tab-list mb-4">
        <Link
          to="/approvals/{-$approvalId}"
          params={{ approvalId: undefined }}
          data-here={here === 'waiting' || undefined}
          className={link}
        >
          Pending
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
