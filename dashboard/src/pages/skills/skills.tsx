import { Link } from '@tanstack/react-router'
import { useSkills } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { buttonClass } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { changed, Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { PageHead } from '../../ui/panel.tsx'
import { rowLink } from '../../ui/table.tsx'

const NewSkill = ({ label }: { label: string }) => (
  <Link to="/skills/$skillId" params={{ skillId: 'new' }} className={buttonClass('main')}>
    <Icon name="plus" />
    {label}
  </Link>
)

export function Skills() {
  const skills = useSkills()
  return (
    <>
      <PageHead title="Skills" actions={<NewSkill label="New skill" />}>
        Procedures in Markdown. Agents find them by their summary and load them when needed.
      </PageHead>
      <Listing
        query={skills}
        label="Skills"
        empty={
          <Empty title="No skills yet" action={<NewSkill label="Create a skill" />}>
            Describe a procedure step by step, and name the apps it uses.
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
            name: 'Status',
            cell: ({ enabled }) => <Badge tone={enabled ? 'good' : 'plain'}>{enabled ? 'enabled' : 'disabled'}</Badge>,
          },
          changed,
        ]}
      />
    </>
  )
}
