import { useState } from 'react'
import type { Mode } from '../../api.ts'
import { useModes } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, Row } from '../../ui/button.tsx'
import { HelpLink } from '../../ui/help-link.tsx'
import { Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { rowLink } from '../../ui/table.tsx'
import { ModeDialog } from './mode-dialog.tsx'

export function Modes() {
  const modes = useModes()
  const [isNew, setNew] = useState(false)
  const [opened, setOpened] = useState<Mode>()
  const add = (
    <Button variant="main" icon="plus" onClick={() => setNew(true)}>
      New mode
    </Button>
  )
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
        <p className="max-w-2xl text-sm text-soft">
          A mode limits the calls of a key, a person, an agent or a session. <HelpLink guide="modes">Guide</HelpLink>
        </p>
        {add}
      </div>
      <Listing
        query={modes}
        label="Modes"
        empty={
          <Empty title="No modes" action={add}>
            Without a mode, actions above the level open wait for approval. A mode can let some of them run, and can
            rule out others.
          </Empty>
        }
        columns={[
          {
            name: 'Name',
            cell: (mode) => (
              <>
                <button type="button" onClick={() => setOpened(mode)} className={`${rowLink} text-left`}>
                  {mode.name}
                </button>{' '}
                <code className="font-mono text-xs text-soft">{mode.slug}</code>
                {mode.description && <div className="text-xs break-words text-soft">{mode.description}</div>}
                <div className="mt-1 md:hidden">
                  <Limits mode={mode} />
                </div>
              </>
            ),
          },
          { name: 'Allows', wideOnly: true, cell: (mode) => <Limits mode={mode} /> },
        ]}
      />
      {isNew && <ModeDialog mode={undefined} onClose={() => setNew(false)} />}
      {opened && <ModeDialog mode={opened} onClose={() => setOpened(undefined)} />}
    </>
  )
}

const Limits = ({ mode: { levels, servers, tools, groups, sign_in_within_seconds: seconds } }: { mode: Mode }) => (
  <Row>
    {['open', ...levels.filter((level) => level !== 'open')].map((level) => (
      <Badge key={level} tone={level === 'administrative' ? 'warn' : 'plain'}>
        {level}
      </Badge>
    ))}
    {groups && <Badge>{groups.join(' and ') || 'no group'} only</Badge>}
    {tools && <Badge>{counted(tools.length, 'tool pattern')}</Badge>}
    {servers && <Badge>{counted(servers.length, 'server')}</Badge>}
    {seconds !== null && <Badge tone="accent">sign-in within {seconds} s</Badge>}
  </Row>
)

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
