import { useState } from 'react'
import type { User } from '../../api.ts'
import { ago, when } from '../../format.ts'
import { useMay, usePeople, useSession } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { type Column, rowLink } from '../../ui/table.tsx'
import { Invite } from './invite.tsx'
import { Person } from './person.tsx'

export function People() {
  const people = usePeople()
  const { data: session } = useSession()
  const [isNew, setNew] = useState(false)
  const [opened, setOpened] = useState<string>()
  const person = people.data?.find(({ id }) => id === opened)
  const add = useMay('users:InviteUser') && (
    <Button variant="main" icon="plus" onClick={() => setNew(true)}>
      Invite person
    </Button>
  )
  return (
    <>
      <PageHead title="People" actions={add}>
        People sign in with a password or a company account. Programs use API keys.{' '}
        <HelpLink guide="people">Guide</HelpLink>
      </PageHead>
      <Listing
        query={people}
        label="People"
        empty={
          <Empty title="No people yet" action={add}>
            Invite your team, so that approvals and the call log name the person.
          </Empty>
        }
        columns={columnsFor(session?.principal.id, setOpened)}
      />
      {isNew && <Invite onClose={() => setNew(false)} />}
      {person && <Person user={person} onClose={() => setOpened(undefined)} />}
    </>
  )
}

const columnsFor = (self: string | undefined, open: (id: string) => void): Column<User>[] => [
  {
    name: 'Name',
    cell: ({ id, name, email, role, last_seen_at }) => (
      <>
        <button type="button" onClick={() => open(id)} className={`${rowLink} text-left`}>
          {name}
        </button>{' '}
        {id === self && <Badge tone="accent">you</Badge>}
        <div className="text-xs break-all text-soft">{email}</div>
        <div className="mt-0.5 text-xs text-soft md:hidden">
          {role ?? 'custom access'} · {last_seen_at ? ago(last_seen_at) : 'never signed in'}
        </div>
      </>
    ),
  },
  {
    name: 'Role',
    wideOnly: true,
    cell: ({ role, access_policy_ids }) =>
      role ? (
        <Badge>{role}</Badge>
      ) : (
        <span className="text-sm text-soft">{access_policy_ids.join(', ') || 'none'}</span>
      ),
  },
  { name: 'Status', cell: (user) => <PersonStatus user={user} /> },
  {
    name: 'Last seen',
    wideOnly: true,
    end: true,
    cell: ({ last_seen_at: seen }) =>
      seen ? (
        <time dateTime={seen} title={when(seen)} className="text-soft">
          {ago(seen)}
        </time>
      ) : (
        <span className="text-soft">never</span>
      ),
  },
]

function PersonStatus({ user: { status, invitation_expires_at: until } }: { user: User }) {
  if (status === 'active') return <Badge tone="good">active</Badge>
  if (status === 'disabled') return <Badge tone="bad">disabled</Badge>
  const isOpen = until !== null && Date.parse(until) > Date.now()
  return <Badge tone={isOpen ? 'accent' : 'warn'}>{isOpen ? 'invited' : 'invitation expired'}</Badge>
}
