import { Navigate, Outlet, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useEffect } from 'react'
import iconPending from '../icon-pending.svg'
import { destinations, destinationsFor } from '../nav.ts'
import { SignIn } from '../pages/sign-in.tsx'
import { usePendingCount } from '../pending-approvals.ts'
import { useSession } from '../queries.ts'
import { ErrorNotice } from '../ui/notice.tsx'
import { Shell } from './shell.tsx'

const Invitation = lazy(() => import('../pages/invitation.tsx'))

/**
 * Shows the sign-in page at any URL until the user has signed in, except for invitations. People who can see nothing on
 * the overview, such as reviewers, begin on their first page.
 */
export function Root() {
  const session = useSession()
  const isInvitation = useRouterState({ select: (state) => state.location.pathname === '/invitation' })
  const isHome = useRouterState({ select: (state) => state.location.pathname === '/' })
  useTitle(isInvitation ? 'Invitation' : session.data ? undefined : 'Sign in')
  if (isInvitation) {
    return (
      <Suspense>
        <Invitation />
      </Suspense>
    )
  }
  if (session.data) {
    const [first] = destinationsFor(session.data)
    return (
      <Shell session={session.data}>
        {isHome && first && first.to !== '/' ? <Navigate to={first.to} replace /> : <Outlet />}
      </Shell>
    )
  }
  if (session.data === null) return <SignIn />
  if (session.error) {
    return (
      <main className="mx-auto max-w-lg p-6">
        <ErrorNotice error={session.error} retry={() => session.refetch()} />
      </main>
    )
  }
  return null
}

/** The document title: the page, and the number of pending approvals. */
function useTitle(fixed: string | undefined): void {
  const waiting = usePendingCount() ?? 0
  const path = useRouterState({ select: (state) => state.location.pathname })
  useEffect(() => {
    const page = destinations.find(({ to }) => to !== '/' && path.startsWith(to)) ?? destinations[0]
    const number = waiting > 0 && fixed === undefined ? `(${waiting}) ` : ''
    document.title = `${number}${fixed ?? page?.label} · Quartermaster`
    document.querySelector('link[rel=icon]')?.setAttribute('href', number === '' ? '/icon.svg' : iconPending)
  }, [path, fixed, waiting])
}
