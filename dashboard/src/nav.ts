import { has, type Session } from './api.ts'
import type { IconName } from './ui/icon.tsx'

export interface Destination {
  readonly to: string
  readonly label: string
  readonly icon: IconName
  /** Other pages in the same section. */
  readonly within?: readonly string[]
  /** The permission that a visitor needs to see anything there. */
  readonly permission?: string
}

/** In the order of the sidebar. An entry with `needs` appears only if the platform has those operations. */
const all: readonly (Destination & { readonly needs?: string })[] = [
  { to: '/', label: 'Overview', icon: 'overview', permission: 'tools:ListTools' },
  {
    to: '/approvals',
    label: 'Approvals',
    icon: 'approvals',
    needs: 'approvals',
    permission: 'approvals:ListApprovals',
  },
  { to: '/calls', label: 'Calls', icon: 'calls', permission: 'calls:ListCalls' },
  { to: '/tools', label: 'Tools', icon: 'tools', permission: 'tools:ListTools' },
  { to: '/apps', label: 'Apps', icon: 'apps', permission: 'tools:ListTools' },
  {
    to: '/workflows',
    label: 'Workflows',
    icon: 'workflows',
    needs: 'workflowRuns',
    permission: 'workflow-runs:ListWorkflowRuns',
  },
  { to: '/servers', label: 'Servers', icon: 'servers', permission: 'servers:ListServers' },
  {
    to: '/agents',
    label: 'Agents',
    icon: 'agents',
    needs: 'agents',
    within: ['/sessions', '/generations', '/ai-providers'],
    permission: 'agents:ListAgents',
  },
  { to: '/skills', label: 'Skills', icon: 'skills', permission: 'skills:ListSkills' },
  {
    to: '/documents',
    label: 'Documents',
    icon: 'documents',
    needs: 'documents',
    within: ['/files'],
    permission: 'documents:ListDocuments',
  },
  {
    to: '/webhooks',
    label: 'Webhooks',
    icon: 'webhooks',
    needs: 'webhooks',
    permission: 'webhooks:ListWebhooks',
  },
  {
    to: '/connections',
    label: 'Connections',
    icon: 'connections',
    needs: 'connections',
    permission: 'connections:ListConnections',
  },
  { to: '/secrets', label: 'Secrets', icon: 'secrets', needs: 'secrets', permission: 'secrets:ListSecrets' },
  { to: '/people', label: 'People', icon: 'people', needs: 'users', permission: 'users:ListUsers' },
  { to: '/access', label: 'Access', icon: 'access', permission: 'api-keys:ListApiKeys' },
  { to: '/settings', label: 'Settings', icon: 'settings' },
  { to: '/help', label: 'Help', icon: 'help' },
]

export const destinations: readonly Destination[] = all.filter(({ needs }) => needs === undefined || has(needs))

/** The pages on which someone can see something. */
export const destinationsFor = ({ permissions }: Session): readonly Destination[] =>
  destinations.filter(({ permission }) => permission === undefined || permissions.includes(permission))
