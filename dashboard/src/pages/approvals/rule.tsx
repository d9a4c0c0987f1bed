import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { type ApprovalRule, ask, qm } from '../../api.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { DeletePanel } from '../../ui/delete-panel.tsx'
import { Switch, TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Answered } from '../../ui/notice.tsx'
import { PageHead, Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'
import { RuleTester } from './tester.tsx'

export function Rule() {
  const { ruleId } = useParams({ from: '/approvals/rules/$ruleId' })
  const isNew = ruleId === 'new'
  const rule = useQuery({
    queryKey: ['approval-rule', ruleId],
    enabled: !isNew,
    queryFn: () => ask(qm.approvalRules.getApprovalRule({ path: { approval_rule_id: ruleId } })),
  })
  if (isNew) return <Editor rule={undefined} />
  return <Answered query={rule}>{(known) => <Editor key={known.id} rule={known} />}</Answered>
}

const example = 'action.id == "tools:refund" && input.amount > 100'

function Editor({ rule }: { rule: ApprovalRule | undefined }) {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  const toList = () => void navigate({ to: '/approvals/rules' })
  const form = useForm({
    start: {
      name: rule?.name ?? '',
      expression: rule?.expression ?? '',
      reason: rule?.reason ?? '',
      two_people: rule?.two_people ?? false,
      enabled: rule?.enabled ?? true,
      seconds: rule?.timeout_seconds == null ? '' : String(rule.timeout_seconds),
    },
    version: rule?.updated_at,
    save({ seconds, reason, name, ...rest }) {
      const body = {
        ...rest,
        name: name.trim(),
        reason: reason.trim() || null,
        timeout_seconds: seconds.trim() === '' ? null : Number(seconds),
      }
      return ask(
        rule
          ? qm.approvalRules.updateApprovalRule({ path: { approval_rule_id: rule.id }, body })
          : qm.approvalRules.createApprovalRule({ body: { ...inProject, ...body } }),
      )
    },
    changes: ['approval-rules', 'approval-rule'],
    onDone: toList,
  })
  const { draft, set, text } = form
  const remove = useAction(
    async () => rule && ask(qm.approvalRules.deleteApprovalRule({ path: { approval_rule_id: rule.id } })),
    { changes: ['approval-rules'], onDone: toList },
  )
  return (
    <div className="max-w-3xl space-y-4">
      <PageHead title={rule?.name ?? 'New rule'}>
        <Link to="/approvals/rules" className="text-accent underline">
          All rules
        </Link>{' '}
        · Calls that match the condition need approval before they run.
      </PageHead>
      <Panel>
        <Form form={form} label={rule ? 'Save' : 'Create rule'} onCancel={toList}>
          {!rule && field}
          <TextField label="Name" required placeholder="Large refunds" {...text('name')} hint="Shown to reviewers" />
          <TextArea
            label="Condition"
            mono
            required
            rows={4}
            placeholder={example}
            {...text('expression')}
            hint="A CEL expression. Start with the action it applies to: if a rule cannot be evaluated, the call needs approval."
          />
          <Names />
          <TextField label="Reason" {...text('reason')} hint="Shown to the reviewer" />
          <div className="max-w-xs">
            <TextField
              label="Approval timeout"
              type="number"
              min={1}
              max={604_800}
              {...text('seconds', 'timeout_seconds')}
              hint="Seconds. Default: that of the tool or the server"
            />
          </div>
          <Switch
            label="Two people"
            hint="Two different people must approve"
            checked={draft.two_people}
            onChange={(two_people) => set({ two_people })}
          />
          <Switch
            label="Enabled"
            hint="A disabled rule has no effect"
            checked={draft.enabled}
            onChange={(enabled) => set({ enabled })}
          />
        </Form>
      </Panel>
      <RuleTester expression={draft.expression} />
      {rule && (
        <DeletePanel what="rule" name={rule.name} onDelete={() => remove.runAsync()}>
          Matching calls no longer need approval, unless something else requires it. Pending approvals stay pending.
        </DeletePanel>
      )}
    </div>
  )
}

const names = [
  ['input', 'the arguments, for example input.amount'],
  ['action', 'id, app, name, level, idempotent, destructive'],
  ['tool, principal', 'id, name'],
  ['agent', 'id; null if no agent made the call'],
  ['server', 'id, slug; null if the call did not come through a server'],
  ['surface', 'mcp, rest (including SDK and CLI), agent or web'],
] as const

const Names = () => (
  <details className="text-xs text-soft">
    <summary className="font-medium">Available variables</summary>
    <dl className="mt-1 grid grid-cols-[auto_1fr] gap-x-4 gap-y-0.5">
      {names.map(([name, about]) => (
        <div key={name} className="contents">
          <dt className="font-mono">{name}</dt>
          <dd>{about}</dd>
        </div>
      ))}
    </dl>
  </details>
)
