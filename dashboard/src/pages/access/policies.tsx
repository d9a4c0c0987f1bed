import { Link } from '@tanstack/react-router'
import type { AccessPolicy } from '../../api.ts'
import { plural } from '../../format.ts'
import { usePolicies } from '../../queries.ts'
import { buttonLook } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Listing } from '../../ui/listing.tsx'
import { Empty } from '../../ui/notice.tsx'
import { rowLink } from '../../ui/table.tsx'

export function Policies() {
  const policies = usePolicies()
  const add = (
    <Link to="/access/policies/$policyId" params={{ policyId: 'new' }} className={buttonLook('main')}>
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
            name: 'Rules',
            wideOnly: true,
            cell: (policy) => <span className="text-soft">{rules(policy)}</span>,
          },
        ]}
      />
    </>
  )
}

const rules = ({ document: { statement } }: AccessPolicy) => {
  const denies = statement.filter(({ effect }) => effect === 'Deny').length
  const allows = statement.length - denies
  return [allows > 0 && plural(allows, 'allows', 'allow'), denies > 0 && plural(denies, 'denies', 'deny')]
    .filter(Boolean)
    .join(', ')
}
