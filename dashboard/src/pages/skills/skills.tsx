import { Link } from '@tanstack/react-router'
import { useSkills } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { buttonLook } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { changed, Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { rowLink } from '../../ui/table.tsx'

const NewSkill = ({ label }: { label: string }) => (
  <Link to="/skills/$skillId" params={{ skillId: 'new' }} className={buttonLook('main')}>
    <Icon name="plus" />
    {label}
  </Link>
)

export function Skills() {
  const skills = useSkills()
  return (
    <>
      <PageHead title="Skills" actions={<NewSkill label="New skill" />}>
        Procedures in Markdown that an agent finds by their summary and loads when it needs them.
      </PageHead>
      <Listing
        query={skills}
        label="Skills"
        empty={
          <Empty title="No skills yet" action={<NewSkill label="Write a skill" />}>
            Write down how something is done here, step by step, and name the apps that it is about.
          </Empty>
        }
        columns={[
          {
            name: 'Name',
            cell: (skill) => (
              <>
                <Link to="/skills/$skillId" params={{ skillId: skill.id }} className={rowLink}>
                  {skill.name}
                </Link>
                <div className="line-clamp-2 max-w-xl text-xs break-words text-soft">{skill.summary}</div>
              </>
            ),
          },
          {
            name: 'Apps',
            wideOnly: true,
            cell: ({ apps }) => <span className="text-soft">{apps.join(', ')}</span>,
          },
          {
            name: 'State',
            cell: ({ enabled }) => <Badge tone={enabled ? 'good' : 'plain'}>{enabled ? 'on' : 'off'}</Badge>,
          },
          changed,
        ]}
      />
    </>
  )
}
