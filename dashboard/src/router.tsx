import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { NotFound, PageFailed } from './pages/not-found.tsx'
import { Root } from './shell/root.tsx'

const root = createRootRoute({ component: Root, notFoundComponent: NotFound })

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined

/** Which part of a page is open. */
const withTab = (search: Record<string, unknown>): { tab?: string | undefined } => ({ tab: text(search.tab) })

export const callFilters = ['status', 'tool', 'app', 'action', 'surface', 'principal_id', 'from', 'to'] as const
export type CallSearch = { readonly [Name in (typeof callFilters)[number]]?: string | undefined }

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview.tsx'), 'Overview'),
})

const routeTree = root.addChildren([overview])

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  defaultErrorComponent: PageFailed,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
