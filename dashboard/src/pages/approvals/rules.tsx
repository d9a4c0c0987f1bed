import { Link } from '@tanstack/react-router'
import { type ApprovalRule, ask, qm } from '../../api.ts'
import { useAll } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { buttonClass, Row } from '../../ui/button.tsx'
import { Switch } from '../../ui/field.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Answered, Empty, ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { Table } from '../../ui/table.tsx'
import { useAction } from '../../use-action.ts'
import { Sections } from './sections.tsx'

/** The rules that decide which calls need approval. */
export function Rules() {
  const rules = useAll('approval-rules', (query) => qm.approvalRules.listApprovalRules({ query }))
  const add = (
    <Link to="/approvals/rules/$ruleId" params={{ ruleId: 'new' }} className={buttonClass('main')}>
      <Icon name="plus" />
      New rule
    </Link>
  )
  return (
    <Sections>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
        <p className="text-sm text-soft">
          Calls that match a rule need approval. You can also require approval in the settings of a tool or a server.
        </p>
        {add}
      </div>
      <Answered query={rules}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No rules yet" action={add}>
              Rules require approval for some calls only, for example refunds above an amount or messages that an agent
              sends.
            </Empty>
          ) : (
            <RuleTable rules={all} />
          )
        }
      </Answered>
    </Sections>
  )
}

function RuleTable({ rules }: { rules: readonly ApprovalRule[] }) {
  const turn = useAction(
    ({ id, enabled }: { id: string; enabled: boolean }) =>
      ask(qm.approvalRules.updateApprovalRule({ path: { approval_rule_id: id }, body: { enabled } })),
    { changes: ['approval-rules', 'approval-rule'] },
  )
  return (
    <div className="space-y-2">
      <ErrorNotice error={turn.error} />
      <Panel flush>
        <Table
          label="Rules"
          items={rules}
          columns={[
            {
              name: 'Rule',
              cell: (rule) => (
                <>
                  <Row>
                    <Link
                      to="/approvals/rules/$ruleId"
                      params={{ ruleId: rule.id }}
                      className="font-medium break-words text-ink hover:text-accent"
                    >
                      {rule.name}
                    </Link>
                    {rule.two_people && <Badge>two people</Badge>}
                    {rule.timeout_seconds !== null && <Badge>{rule.timeout_seconds} s</Badge>}
                  </Row>
                  <code className="line-clamp-2 font-mono text-xs break-words text-soft">{rule.expression}</code>
                </>
              ),
            },
            {
              name: 'Reason',
              wideOnly: true,
              cell: ({ reason }) => <span className="line-clamp-2 text-soft">{reason}</span>,
            },
            {
              name: 'Enabled',
              end: true,
              cell: ({ id, name, enabled }) => (
                <span className="inline-flex">
                  <Switch
                    label={<span className="sr-only">{name}</span>}
                    checked={enabled}
                    disabled={turn.busy}
                    onChange={(isOn) => turn.run({ id, enabled: isOn })}
                  />
                </span>
              ),
            },
          ]}
        />
      </Panel>
    </div>
  )
}
