import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMay } from '../../queries.ts'
import { HelpLink } from '../../ui/help-link.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Accounts } from './accounts.tsx'
import { AuthConfigs } from './auth-configs.tsx'

export function Connections() {
  const { tab = 'accounts' } = useSearch({ from: '/connections' })
  const navigate = useNavigate({ from: '/connections' })
  const seesConfigs = useMay('auth-configs:ListAuthConfigs')
  const accounts = { id: 'accounts', label: 'Accounts', content: () => <Accounts /> }
  const configs = { id: 'configs', label: 'Auth configs', content: () => <AuthConfigs /> }
  return (
    <>
      <PageHead title="Connections">
        Accounts at other services, of one end user or shared by the project. Tools use them; nobody sees the
        credentials. <HelpLink guide="connections">Guide</HelpLink>
      </PageHead>
      <Tabs
        label="Connections"
        value={tab}
        onChange={(next) => navigate({ search: { tab: next === 'accounts' ? undefined : next }, replace: true })}
        tabs={seesConfigs ? [accounts, configs] : [accounts]}
      />
    </>
  )
}
