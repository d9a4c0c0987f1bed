import { has } from './api.ts'
import type { IconName } from './ui/icon.tsx'

export interface Destination {
  readonly to: string
  readonly label: string
  readonly icon: IconName
  readonly about: string
  /** Other pages that belong to it. */
  readonly within?: readonly string[]
}

/** In the order of the sidebar. One with `needs` is there once the platform has those operations. */
const all: readonly (Destination & { readonly needs?: string })[] = [
  { to: '/', label: 'Overview', icon: 'overview', about: 'Calls, errors and latency of the last hour' },
  {
    to: '/approvals',
    label: 'Approvals',
    icon: 'approvals',
    about: 'Calls waiting for a decision',
    needs: 'approvals',
  },
  { to: '/calls', label: 'Calls', icon: 'calls', about: 'The log of every call' },
  { to: '/tools', label: 'Tools', icon: 'tools', about: 'Actions that agents can call' },
  { to: '/servers', label: 'Servers', icon: 'servers', about: 'MCP endpoints for clients to connect to' },
  {
    to: '/agents',
    label: 'Agents',
    icon: 'agents',
    about: 'Models that use the tools',
    needs: 'agents',
    within: ['/generations', '/ai-providers'],
  },
  { to: '/skills', label: 'Skills', icon: 'skills', about: 'Procedures that agents can load' },
  {
    to: '/documents',
    label: 'Documents',
    icon: 'documents',
    about: 'Documents and files that tools can read',
    needs: 'documents',
    within: ['/files'],
  },
  {
    to: '/connections',
    label: 'Connections',
    icon: 'connections',
    about: 'Accounts that tools act for',
    needs: 'connections',
  },
  {
    to: '/webhooks',
    label: 'Webhooks',
    icon: 'webhooks',
    about: 'Send events to your own services',
    needs: 'webhooks',
  },
  { to: '/access', label: 'Access', icon: 'access', about: 'API keys and access policies' },
  { to: '/settings', label: 'Settings', icon: 'settings', about: 'Projects, appearance and this session' },
  { to: '/help', label: 'Help', icon: 'help', about: 'Guides and references' },
]

/** The pages that there is a route for: a place in the navigation leads somewhere. */
const built = new Set([
  ...['/', '/approvals', '/calls', '/tools', '/servers', '/agents', '/skills', '/documents', '/webhooks'],
  ...['/access', '/settings', '/help'],
])

export const destinations: readonly Destination[] = all.filter(
  ({ to, needs }) => built.has(to) && (needs === undefined || has(needs)),
)
