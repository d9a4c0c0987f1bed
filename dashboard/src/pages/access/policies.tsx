import { Link } from '@tanstack/react-router'
import type { AccessPolicy } from '../../api.ts'
import { usePolicies } from '../../queries.ts'
import { buttonClass } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { rowLink } from '../../ui/table.tsx'

export function Policies() {
  const policies = usePolicies()
  const add = (
    <Link to="/access/policies/$policyId" params={{ policyId: 'new' }} className={buttonClass('main')}>
      <Icon name="plus" />
      New access policy
    </Link>
  )
  return (
    <>
      <div className="mb-3 flex justify-end">{add}</div>
      <Listing
        query={policies}
        label="Access policies"
        empty={<Empty title="No access policies" action={add} />}
        columns={[
          {
            name: 'Name',
            cell: (policy) => (
              <>
                <Link to="/access/policies/$policyId" params={{ policyId: policy.id }} className={rowLink}>
                  {policy.name}
                </Link>
                <div className="text-xs text-soft">{policy.description}</div>
              </>
            ),
          },
          {
            name: 'Statements',
            wideOnly: true,
            cell: (policy) => <span className="text-soft">{statementsOf(policy)}</span>,
          },
        ]}
      />
    </>
  )
}

const statementsOf = ({ document: { statement } }: AccessPolicy) => {
  const denies = statement.filter(({ effect }) => effect === 'Deny').length
  const allows = statement.length - denies
  return [allows > 0 && `${allows} Allow`, denies > 0 && `${denies} Deny`].filter(Boolean).join(', ')
}
