import { Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import iconWaiting from '../icon-waiting.svg'
import { destinations } from '../nav.ts'
import { SignIn } from '../pages/sign-in.tsx'
import { useSession } from '../queries.ts'
import { ErrorNotice } from '../ui/notice.tsx'
import { useWaiting } from '../waiting.ts'
import { Shell } from './shell.tsx'

/** Whoever is not signed in sees the sign-in page at whatever address, and goes on from there. */
export function Root() {
  const session = useSession()
  useTitle(session.data ? undefined : 'Sign in')
  if (session.data) {
    return (
      <Shell session={session.data}>
        <Outlet />
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

/** What the tab of the browser says: the page, and how many calls wait for a person. */
function useTitle(fixed: string | undefined): void {
  const waiting = useWaiting() ?? 0
  const path = useRouterState({ select: (state) => state.location.pathname })
  useEffect(() => {
    const page = destinations.find(({ to }) => to !== '/' && path.startsWith(to)) ?? destinations[0]
    const number = waiting > 0 && fixed === undefined ? `(${waiting}) ` : ''
    document.title = `${number}${fixed ?? page?.label} · Quartermaster`
    document.querySelector('link[rel=icon]')?.setAttribute('href', number === '' ? '/icon.svg' : iconWaiting)
  }, [path, fixed, waiting])
}
