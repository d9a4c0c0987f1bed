import { Link, useNavigate, useRouterState } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from 'react'
import { type Session, signOut } from '../api.ts'
import { count } from '../format.ts'
import { destinationsFor } from '../nav.ts'
import { useApprovalStream, usePendingCount } from '../pending-approvals.ts'
import { chooseProject, useProjectId } from '../project.ts'
import { setSession, useProjects } from '../queries.ts'
import { setTheme, type Theme, useTheme } from '../theme.ts'
import { IconButton } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'

const Palette = lazy(() => import('./palette.tsx'))

export function Shell({ session, children }: { session: Session; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  const [isSearching, setSearching] = useState(false)
  const path = useRouterState({ select: (state) => state.location.pathname })
  const navigate = useNavigate()
  const openApproval = useCallback(
    (approvalId: string) => void navigate({ to: '/approvals/{-$approvalId}', params: { approvalId } }),
    [navigate],
  )
  useApprovalStream(openApproval)

  // biome-ignore lint/correctness/useExhaustiveDependencies: navigating to another page closes the menu
  useEffect(() => setOpen(false), [path])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'k' && (event.metaKey || event.ctrlKey)) {
        event.preventDefault()
        setSearching((is) => !is)
      }
      if (event.key === 'Escape') setOpen(false)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])

  return (
    <div className="md:grid md:min-h-dvh md:grid-cols-[13rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="fixed top-2 left-2 z-50 -translate-y-16 rounded-md bg-accent px-3 py-2 text-sm text-on-accent focus:translate-y-0"
      >
        Skip to content
      </a>
      <header className="sticky top-0 z-20 flex items-center gap-2 border-b border-line bg-panel px-3 py-2 md:hidden">
        <IconButton
          label={isOpen ? 'Close menu' : 'Open menu'}
          icon={isOpen ? 'close' : 'menu'}
          aria-expanded={isOpen}
          aria-controls="menu"
          onClick={() => setOpen(!isOpen)}
        />
        <Brand />
        <div className="ml-auto flex items-center gap-1">
          <PendingLink />
          <IconButton label="Search" icon="search" onClick={() => setSearching(true)} />
        </div>
      </header>
      <aside
        id="menu"
        className={`${isOpen ? 'flex' : 'hidden'} flex-col border-b border-line bg-panel p-3 max-md:fixed max-md:inset-x-0 max-md:top-[3.0625rem] max-md:bottom-0 max-md:z-30 md:sticky md:top-0 md:flex md:h-dvh md:border-r md:border-b-0`}
      >
        <div className="mb-3 hidden px-2 pt-1 md:block">
          <Brand />
        </div>
        <button
          type="button"
          onClick={() => setSearching(true)}
          className="mb-2 hidden items-center gap-2 rounded-md border border-line bg-page px-2 py-1.5 text-sm text-soft hover:text-ink md:flex"
        >
          <Icon name="search" />
          Go to…
          <kbd className="ml-auto font-mono text-xs">{isMac ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <ProjectChoice />
        <nav aria-label="Pages" className="flex-1 overflow-y-auto">
          <ul className="space-y-0.5">
            {destinationsFor(session).map(({ to, label, icon, within = [] }) => (
              <li key={to}>
                <Link
                  to={to}
                  activeOptions={{ exact: to === '/' }}
                  {...(within.some((one) => path.startsWith(one)) && { 'data-status': 'active' })}
                  className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-base text-soft -outline-offset-2 hover:bg-hover hover:text-ink data-[status=active]:bg-accent-wash data-[status=active]:font-medium data-[status=active]:text-accent"
                >
                  <Icon name={icon} />
                  {label}
                  {to === '/approvals' && <PendingBadge />}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <Foot session={session} />
      </aside>
      <main id="content" tabIndex={-1} className="min-w-0 px-4 py-5 outline-none md:px-7 md:py-6">
        <div className="mx-auto max-w-6xl">{children}</div>
      </main>
      {isSearching && (
        <Suspense>
          <Palette onClose={() => setSearching(false)} />
        </Suspense>
      )}
    </div>
  )
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

const Brand = () => (
  <Link to="/" className="flex items-center gap-2 font-semibold tracking-tight">
    <img src="/icon.svg" alt="" className="size-5" />
    Quartermaster
  </Link>
)

/** The number of pending approvals. */
function PendingBadge() {
  const waiting = usePendingCount() ?? 0
  if (waiting === 0) return null
  return (
    <span className="ml-auto rounded-full bg-accent px-1.5 text-xs font-semibold text-on-accent tabular-nums">
      {waiting > 9999 ? `${count(Math.floor(waiting / 1000))}k` : count(waiting)}
      <span className="sr-only"> pending</span>
    </span>
  )
}

/** On a phone, pending approvals must be visible while the menu is closed. */
function PendingLink() {
  const waiting = usePendingCount() ?? 0
  if (waiting === 0) return null
  return (
    <Link
      to="/approvals/{-$approvalId}"
      params={{ approvalId: undefined }}
      className="inline-flex items-center gap-1.5 rounded-md px-2 py-1.5 text-soft"
    >
      <Icon name="approvals" />
      <PendingBadge />
    </Link>
  )
}

/** Scopes every list to one project. A key that is bound to a project, or sees only one, has nothing to choose. */
function ProjectChoice() {
  const { data: projects = [] } = useProjects()
  const chosen = useProjectId()
  const isDeleted = chosen !== undefined && projects.length > 0 && !projects.some(({ id }) => id === chosen)
  useEffect(() => {
    if (isDeleted) chooseProject(undefined)
  }, [isDeleted])
  const only = projects.length === 1 ? projects[0] : undefined
  if (only) return <p className="mb-2 truncate px-2 text-sm text-soft">Project: {only.name}</p>
  if (projects.length === 0) return null
  return (
    <div className="mb-2">
      <select
        aria-label="Project"
        className="control text-sm"
        value={chosen ?? ''}
        onChange={(event) => chooseProject(event.target.value || undefined)}
      >
        <option value="">All projects</option>
        {projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </div>
  )
}

/** Who is signed in: a person, or a key. */
function Account({ kind, name, email, role }: Session['principal']) {
  return (
    <Link to="/settings" className="min-w-0 rounded-md py-1 hover:text-ink" title="Account and session">
      <span className="block truncate">{name}</span>
      <span className="block truncate text-xs text-soft">
        {kind === 'user' ? [role, email].filter(Boolean).join(' · ') : 'API key'}
      </span>
    </Link>
  )
}

const next: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }

function Foot({ session }: { session: Session }) {
  const theme = useTheme()
  const leave = async () => {
    // Leave the page even if the request fails.
    await signOut().catch(() => undefined)
    setSession(null)
  }
  return (
    <div className="mt-3 border-t border-line pt-2 text-sm">
      <button
        type="button"
        onClick={() => setTheme(next[theme])}
        className="flex w-full items-center justify-between rounded-md px-2 py-1 text-soft hover:bg-hover hover:text-ink"
      >
        Appearance <span className="text-xs">{theme === 'system' ? 'system' : theme}</span>
      </button>
      <div className="flex items-center justify-between gap-2 pl-2">
        <Account {...session.principal} />
        <IconButton label="Sign out" icon="out" onClick={leave} />
      </div>
    </div>
  )
}
