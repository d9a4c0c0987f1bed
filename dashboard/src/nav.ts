import { has } from './api.ts'
import type { IconName } from './ui/icon.tsx'

export interface Destination {
  readonly to: string
  readonly label: string
  readonly icon: IconName
  /** Other pages in the same section. */
  readonly within?: readonly string[]
}

/** In the order of the sidebar. An entry with `needs` appears only if the platform has those operations. */
const all: readonly (Destination & { readonly needs?: string })[] = [
  { to: '/', label: 'Overview', icon: 'overview' },
  {
    to: '/approvals',
    label: 'Approvals',
    icon: 'approvals',
    needs: 'approvals',
  },
  { to: '/calls', label: 'Calls', icon: 'calls' },
  { to: '/tools', label: 'Tools', icon: 'tools' },
  { to: '/servers', label: 'Servers', icon: 'servers' },
  {
    to: '/agents',
    label: 'Agents',
    icon: 'agents',
    needs: 'agents',
    within: ['/sessions', '/generations', '/ai-providers'],
  },
  { to: '/skills', label: 'Skills', icon: 'skills' },
  {
    to: '/documents',
    label: 'Documents',
    icon: 'documents',
    needs: 'documents',
    within: ['/files'],
  },
  {
    to: '/webhooks',
    label: 'Webhooks',
    icon: 'webhooks',
    needs: 'webhooks',
  },
  { to: '/secrets', label: 'Secrets', icon: 'secrets', needs: 'secrets' },
  { to: '/access', label: 'Access', icon: 'access' },
  { to: '/settings', label: 'Settings', icon: 'settings' },
  { to: '/help', label: 'Help', icon: 'help' },
]

export const destinations: readonly Destination[] = all.filter(({ needs }) => needs === undefined || has(needs))
