import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { NotFound, PageFailed } from './pages/not-found.tsx'
import { Root } from './shell/root.tsx'

const root = createRootRoute({ component: Root, notFoundComponent: NotFound })
const getParentRoute = () => root

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined

/** The open tab of a page. */
const withTab = (search: Record<string, unknown>): { tab?: string | undefined } => {
  const tab = text(search.tab)
  return tab ? { tab } : {}
}

const callFilters = ['q', 'status', 'tool', 'app', 'action', 'surface', 'principal_id', 'from', 'to'] as const
export type CallSearch = { readonly [Name in (typeof callFilters)[number]]?: string | undefined }

export interface GenerationSearch {
  readonly agent_id?: string | undefined
  readonly status?: string | undefined
}

export interface WorkflowSearch {
  readonly tool_id?: string | undefined
  readonly status?: string | undefined
  readonly kind?: string | undefined
}

export interface HistorySearch {
  readonly status?: string | undefined
  readonly tool_id?: string | undefined
}

/** To add a page, add its route here and its entry to `nav.ts`. */
const routes = [
  createRoute({
    getParentRoute,
    path: '/',
    component: lazyRouteComponent(() => import('./pages/overview/overview.tsx'), 'Overview'),
  }),
  createRoute({
    getParentRoute,
    path: '/approvals/{-$approvalId}',
    component: lazyRouteComponent(() => import('./pages/approvals/inbox.tsx'), 'Inbox'),
  }),
  createRoute({
    getParentRoute,
    path: '/approvals/history',
    validateSearch: ({ status, tool_id }: Record<string, unknown>): HistorySearch => ({
      ...(text(status) && { status: text(status) }),
      ...(text(tool_id) && { tool_id: text(tool_id) }),
    }),
    component: lazyRouteComponent(() => import('./pages/approvals/history.tsx'), 'History'),
  }),
  createRoute({
    getParentRoute,
    path: '/approvals/rules',
    component: lazyRouteComponent(() => import('./pages/approvals/rules.tsx'), 'Rules'),
  }),
  createRoute({
    getParentRoute,
    path: '/approvals/rules/$ruleId',
    component: lazyRouteComponent(() => import('./pages/approvals/rule.tsx'), 'Rule'),
  }),
  createRoute({
    getParentRoute,
    path: '/webhooks',
    component: lazyRouteComponent(() => import('./pages/webhooks/webhooks.tsx'), 'Webhooks'),
  }),
  createRoute({
    getParentRoute,
    path: '/webhooks/$webhookId',
    component: lazyRouteComponent(() => import('./pages/webhooks/webhook.tsx'), 'Webhook'),
  }),
  createRoute({
    getParentRoute,
    path: '/secrets',
    component: lazyRouteComponent(() => import('./pages/secrets/secrets.tsx'), 'Secrets'),
  }),
  createRoute({
    getParentRoute,
    path: '/calls',
    validateSearch: (search: Record<string, unknown>): CallSearch =>
      Object.fromEntries(callFilters.map((name) => [name, text(search[name])]).filter(([, value]) => value)),
    component: lazyRouteComponent(() => import('./pages/calls/calls.tsx'), 'Calls'),
  }),
  createRoute({
    getParentRoute,
    path: '/calls/$callId',
    component: lazyRouteComponent(() => import('./pages/calls/call.tsx'), 'Call'),
  }),
  createRoute({
    getParentRoute,
    path: '/workflows',
    validateSearch: (search: Record<string, unknown>): WorkflowSearch =>
      Object.fromEntries(
        ['tool_id', 'status', 'kind'].map((name) => [name, text(search[name])]).filter(([, value]) => value),
      ),
    component: lazyRouteComponent(() => import('./pages/workflows/workflows.tsx'), 'Workflows'),
  }),
  createRoute({
    getParentRoute,
    path: '/workflows/$runId',
    component: lazyRouteComponent(() => import('./pages/workflows/run.tsx'), 'Run'),
  }),
  createRoute({
    getParentRoute,
    path: '/tools',
    validateSearch: (search: Record<string, unknown>): { import?: true } =>
      search.import === true ? { import: true } : {},
    component: lazyRouteComponent(() => import('./pages/tools/tools.tsx'), 'Tools'),
  }),
  createRoute({
    getParentRoute,
    path: '/tools/new',
    component: lazyRouteComponent(() => import('./pages/tools/new.tsx'), 'NewTool'),
  }),
  createRoute({
    getParentRoute,
    path: '/tools/import-api',
    component: lazyRouteComponent(() => import('./pages/tools/api/import-api.tsx'), 'ImportApi'),
  }),
  createRoute({
    getParentRoute,
    path: '/apps',
    component: lazyRouteComponent(() => import('./pages/apps/apps.tsx'), 'Apps'),
  }),
  createRoute({
    getParentRoute,
    path: '/apps/$app',
    component: lazyRouteComponent(() => import('./pages/apps/app.tsx'), 'AppPage'),
  }),
  createRoute({
    getParentRoute,
    path: '/tools/$toolId',
    validateSearch: withTab,
    component: lazyRouteComponent(() => import('./pages/tools/tool.tsx'), 'Tool'),
  }),
  createRoute({
    getParentRoute,
    path: '/servers',
    component: lazyRouteComponent(() => import('./pages/servers/servers.tsx'), 'Servers'),
  }),
  createRoute({
    getParentRoute,
    path: '/servers/new',
    component: lazyRouteComponent(() => import('./pages/servers/new.tsx'), 'NewServer'),
  }),
  createRoute({
    getParentRoute,
    path: '/servers/$serverId',
    validateSearch: withTab,
    component: lazyRouteComponent(() => import('./pages/servers/server.tsx'), 'Server'),
  }),
  createRoute({
    getParentRoute,
    path: '/skills',
    component: lazyRouteComponent(() => import('./pages/skills/skills.tsx'), 'Skills'),
  }),
  createRoute({
    getParentRoute,
    path: '/skills/$skillId',
    component: lazyRouteComponent(() => import('./pages/skills/skill.tsx'), 'Skill'),
  }),
  createRoute({
    getParentRoute,
    path: '/agents',
    component: lazyRouteComponent(() => import('./pages/agents/agents.tsx'), 'Agents'),
  }),
  createRoute({
    getParentRoute,
    path: '/agents/new',
    component: lazyRouteComponent(() => import('./pages/agents/new.tsx'), 'NewAgent'),
  }),
  createRoute({
    getParentRoute,
    path: '/agents/new-guided',
    component: lazyRouteComponent(() => import('./pages/agents/manifest/new.tsx'), 'NewManifest'),
  }),
  createRoute({
    getParentRoute,
    path: '/agents/$agentId',
    // The last run of the open conversation.
    validateSearch: (search: Record<string, unknown>): { tab?: string | undefined; run?: string | undefined } => {
      const run = text(search.run)
      return { ...withTab(search), ...(run && { run }) }
    },
    component: lazyRouteComponent(() => import('./pages/agents/agent.tsx'), 'Agent'),
  }),
  createRoute({
    getParentRoute,
    path: '/sessions',
    component: lazyRouteComponent(() => import('./pages/sessions/sessions.tsx'), 'Sessions'),
  }),
  createRoute({
    getParentRoute,
    path: '/sessions/$sessionId',
    component: lazyRouteComponent(() => import('./pages/sessions/session.tsx'), 'Session'),
  }),
  createRoute({
    getParentRoute,
    path: '/generations',
    validateSearch: (search: Record<string, unknown>): GenerationSearch =>
      Object.fromEntries(['agent_id', 'status'].map((name) => [name, text(search[name])]).filter(([, value]) => value)),
    component: lazyRouteComponent(() => import('./pages/generations/generations.tsx'), 'Generations'),
  }),
  createRoute({
    getParentRoute,
    path: '/generations/$generationId',
    component: lazyRouteComponent(() => import('./pages/generations/generation.tsx'), 'Generation'),
  }),
  createRoute({
    getParentRoute,
    path: '/ai-providers',
    component: lazyRouteComponent(() => import('./pages/ai-providers/ai-providers.tsx'), 'AiProviders'),
  }),
  createRoute({
    getParentRoute,
    path: '/ai-providers/new',
    component: lazyRouteComponent(() => import('./pages/ai-providers/new.tsx'), 'NewAiProvider'),
  }),
  createRoute({
    getParentRoute,
    path: '/ai-providers/$providerId',
    validateSearch: withTab,
    component: lazyRouteComponent(() => import('./pages/ai-providers/provider.tsx'), 'AiProvider'),
  }),
  createRoute({
    getParentRoute,
    path: '/connections',
    validateSearch: withTab,
    component: lazyRouteComponent(() => import('./pages/connections/connections.tsx'), 'Connections'),
  }),
  createRoute({
    getParentRoute,
    path: '/people',
    component: lazyRouteComponent(() => import('./pages/people/people.tsx'), 'People'),
  }),
  createRoute({
    getParentRoute,
    path: '/access',
    validateSearch: withTab,
    component: lazyRouteComponent(() => import('./pages/access/access.tsx'), 'Access'),
  }),
  createRoute({
    getParentRoute,
    path: '/access/policies/$policyId',
    component: lazyRouteComponent(() => import('./pages/access/policy.tsx'), 'Policy'),
  }),
  createRoute({
    getParentRoute,
    path: '/settings',
    component: lazyRouteComponent(() => import('./pages/settings.tsx'), 'Settings'),
  }),
  createRoute({
    getParentRoute,
    path: '/documents',
    validateSearch: withTab,
    component: lazyRouteComponent(() => import('./pages/documents/documents.tsx'), 'Documents'),
  }),
  createRoute({
    getParentRoute,
    path: '/documents/$documentId',
    component: lazyRouteComponent(() => import('./pages/documents/document.tsx'), 'Document'),
  }),
  createRoute({
    getParentRoute,
    path: '/files/$fileId',
    component: lazyRouteComponent(() => import('./pages/documents/file.tsx'), 'StoredFile'),
  }),
  createRoute({
    getParentRoute,
    path: '/help',
    component: lazyRouteComponent(() => import('./pages/help/help.tsx'), 'Help'),
  }),
  createRoute({
    getParentRoute,
    path: '/help/$guide',
    component: lazyRouteComponent(() => import('./pages/help/guide.tsx'), 'Guide'),
  }),
] as const

export const router = createRouter({
  routeTree: root.addChildren(routes),
  defaultPreload: 'intent',
  defaultErrorComponent: PageFailed,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
