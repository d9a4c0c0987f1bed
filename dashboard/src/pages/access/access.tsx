import { useNavigate, useSearch } from '@tanstack/react-router'
import { PageHead } from '../../ui/panel.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Apps } from './apps.tsx'
import { Check } from './check.tsx'
import { Keys } from './keys.tsx'
import { Modes } from './modes.tsx'
import { Policies } from './policies.tsx'

export function Access() {
  const { tab = 'keys' } = useSearch({ from: '/access' })
  const navigate = useNavigate({ from: '/access' })
  return (
    <>
      <PageHead title="Access">
        API keys and connected apps identify callers. Access policies define what they can do, modes limit single calls.
      </PageHead>
      <Tabs
        label="Access"
        value={tab}
        onChange={(next) => navigate({ search: { tab: next === 'keys' ? undefined : next }, replace: true })}
        tabs={[
          { id: 'keys', label: 'API keys', content: () => <Keys /> },
          { id: 'apps', label: 'Connected apps', content: () => <Apps /> },
          { id: 'policies', label: 'Access policies', content: () => <Policies /> },
          { id: 'modes', label: 'Modes', content: () => <Modes /> },
          { id: 'check', label: 'Policy simulator', content: () => <Check /> },
        ]}
      />
    </>
  )
}
