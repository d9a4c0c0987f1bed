import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { ask, qm, type Server as ServerRecord } from '../../api.ts'
import { Badge } from '../../ui/badge.tsx'
import { Answered } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Connect } from './connect.tsx'
import { Find } from './find.tsx'
import { Footprint } from './footprint.tsx'
import { Offer } from './offer.tsx'
import { ServerSettings } from './settings.tsx'

export function Server() {
  const { serverId } = useParams({ from: '/servers/$serverId' })
  const server = useQuery({
    queryKey: ['server', serverId],
    queryFn: () => ask(qm.servers.getServer({ path: { server_id: serverId } })),
  })
  return <Answered query={server}>{(record) => <Whole key={record.id} server={record} />}</Answered>
}

function Whole({ server }: { server: ServerRecord }) {
  const { tab = 'connect' } = useSearch({ from: '/servers/$serverId' })
  const navigate = useNavigate({ from: '/servers/$serverId' })
  return (
    <>
      <PageHead title={server.name}>
        <span className="mr-2 inline-flex gap-1.5 align-middle">
          <Badge tone={server.enabled ? 'good' : 'plain'}>{server.enabled ? 'enabled' : 'disabled'}</Badge>
          <Badge>{server.agent_mode ? 'agent mode' : 'direct mode'}</Badge>
        </span>
        <code className="font-mono text-xs break-all">{window.location.origin + server.url}</code>
      </PageHead>
      <Tabs
        label="Server"
        value={tab}
        onChange={(next) => navigate({ search: { tab: next === 'connect' ? undefined : next }, replace: true })}
        tabs={[
          { id: 'connect', label: 'Connect', content: () => <Connect server={server} /> },
          { id: 'offer', label: 'Actions and skills', content: () => <Offer server={server} /> },
          { id: 'find', label: 'Find actions', content: () => <Find server={server} /> },
          { id: 'cost', label: 'Cost', content: () => <Footprint server={server} /> },
          { id: 'settings', label: 'Settings', content: () => <ServerSettings server={server} /> },
        ]}
      />
    </>
  )
}
