import { Link } from '@tanstack/react-router'
import { type App, qm } from '../../api.ts'
import { count } from '../../format.ts'
import { useAll } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { buttonClass } from '../../ui/button.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { rowLink } from '../../ui/table.tsx'

/** The apps that tools belong to. */
export function Apps() {
  const apps = useAll('apps', (query) => qm.tools.listApps({ query }))
  const rows = apps.data?.map((app) => ({ ...app, id: `${app.project_id} ${app.slug}` }))
  const add = (
    <Link to="/tools/import-api" className={buttonClass('main')}>
      Import an API
    </Link>
  )
  return (
    <>
      <PageHead title="Apps" actions={add}>
        What your tools offer, by app. <HelpLink guide="openapi">Guide</HelpLink>
      </PageHead>
      <Listing
        query={{ ...apps, data: rows }}
        label="Apps"
        empty={
          <Empty title="No apps yet" action={add}>
            An app appears with the first tool that belongs to it.
          </Empty>
        }
        columns={[
          {
            name: 'App',
            cell: ({ slug, tools }) => (
              <>
                <Link to="/apps/$app" params={{ app: slug }} className={rowLink}>
                  {slug}
                </Link>
                <div className="line-clamp-1 text-xs break-words text-soft">
                  {tools.map(({ name }) => name).join(', ')}
                </div>
              </>
            ),
          },
          {
            name: 'Actions',
            end: true,
            cell: ({ action_count }) => (action_count === null ? '–' : count(action_count)),
          },
          { name: 'Credentials', wideOnly: true, cell: (app) => <Credentials app={app} /> },
          { name: 'Health', cell: (app) => <AppHealth app={app} /> },
        ]}
      />
    </>
  )
}

/** One of the alternatives is enough. */
export function Credentials({ app: { auth } }: { app: Pick<App, 'auth'> }) {
  if (auth.length === 0) return <span className="text-soft">none needed</span>
  const configured = auth.filter((one) => one.configured)
  return configured.length > 0 ? (
    <Badge tone="good">{configured.map(({ scheme }) => scheme).join(', ')}</Badge>
  ) : (
    <Badge tone="warn">missing</Badge>
  )
}

export function AppHealth({ app: { health } }: { app: Pick<App, 'health'> }) {
  const down = health.filter(({ state }) => state === 'down')
  if (down.length > 0) return <Badge tone="bad">down</Badge>
  return health.some(({ state }) => state === 'up') ? (
    <Badge tone="good">up</Badge>
  ) : (
    <span className="text-soft">–</span>
  )
}
