import { Link } from '@tanstack/react-router'
import type { Server } from '../../api.ts'
import { plural } from '../../format.ts'
import { useServers } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { buttonClass } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { rowLink } from '../../ui/table.tsx'

export function Servers() {
  const servers = useServers()
  return (
    <>
      <PageHead
        title="Servers"
        actions={
          <Link to="/servers/new" className={buttonClass('main')}>
            <Icon name="plus" />
            New server
          </Link>
        }
      >
        MCP endpoints for clients to connect to. Each offers some or all of your tools.
      </PageHead>
      <Listing
        query={servers}
        label="Servers"
        empty={
          <Empty
            title="No servers yet"
            action={
              <Link to="/servers/new" className={buttonClass('main')}>
                Create a server
              </Link>
            }
          >
            Editors, desktop assistants and frameworks connect to a server. Create one that offers everything, and
            restrict it later.
          </Empty>
        }
        columns={[
          {
            name: 'Name',
            cell: (server) => (
              <>
                <Link to="/servers/$serverId" params={{ serverId: server.id }} className={rowLink}>
                  {server.name}
                </Link>
                <div className="font-mono text-xs break-all text-soft">{server.url}</div>
              </>
            ),
          },
          {
            name: 'Status',
            cell: ({ enabled }) => <Badge tone={enabled ? 'good' : 'plain'}>{enabled ? 'enabled' : 'disabled'}</Badge>,
          },
          {
            name: 'Mode',
            wideOnly: true,
            cell: ({ agent_mode }) => <span className="text-soft">{agent_mode ? 'agent' : 'direct'}</span>,
          },
          {
            name: 'Apps',
            wideOnly: true,
            cell: (server) => <span className="text-soft">{offers(server)}</span>,
          },
          {
            name: 'Skills',
            wideOnly: true,
            cell: ({ retrieve_skill, skill_ids }) => (
              <span className="text-soft">
                {retrieve_skill ? (skill_ids === null ? 'all' : plural(skill_ids.length, 'skill')) : 'none'}
              </span>
            ),
          },
        ]}
      />
    </>
  )
}

const offers = ({ apps }: Server) => (apps === null ? 'everything' : plural(apps.length, 'app'))
