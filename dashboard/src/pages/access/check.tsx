import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type AccessCheck, ask, qm } from '../../api.ts'
import { usePermissions } from '../../operations.ts'
import { useKeys, useMay, usePeople, useProjects, useTools } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, Row } from '../../ui/button.tsx'
import { Field, Select, TextField } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { faultsOf } from '../../use-form.ts'
import { CallFields, type CallQuestion, noQuestion, questionOf } from './check-call.tsx'

/** Shows whether a key or person may do something, and which access policy or mode decides. */
export function Check() {
  const { data: keys = [] } = useKeys()
  const { data: people = [] } = usePeople(useMay('users:ListUsers'))
  const { data: permissions = [] } = usePermissions()
  const { data: projects = [] } = useProjects()
  const { data: tools = [] } = useTools()
  const [holder, setHolder] = useState('')
  const [permission, setPermission] = useState('tools:CallTool')
  const [resource, setResource] = useState('')
  const [question, setQuestion] = useState<CallQuestion>(noQuestion)
  const kind = (permission.split(':')[0] ?? 'tool').replace(/ies$/, 'y').replace(/s$/, '')
  const isCall = permission === 'tools:CallTool'
  const tool = isCall ? tools.find(({ id }) => id === question.tool) : undefined
  const suggested = `qm:${tool?.project_id ?? projects[0]?.id ?? '*'}:${kind}:${tool?.id ?? '*'}`
  const holderId = holder || keys[0]?.id || ''
  const modes = [...keys, ...people].find(({ id }) => id === holderId)?.modes ?? []
  const check = useAction(() =>
    ask(
      qm.accessPolicies.checkAccess({
        body: {
          ...(holderId.startsWith('usr_') ? { user_id: holderId } : { api_key_id: holderId }),
          permission,
          resource: resource.trim() || suggested,
          ...(isCall && questionOf(question)),
        },
      }),
    ),
  )
  const faultOf = faultsOf(check.error)
  return (
    <div className="max-w-2xl space-y-4">
      <Panel title="Policy simulator">
        <form
          className="space-y-4"
          onSubmit={(event) => {
            event.preventDefault()
            check.run()
          }}
        >
          <Select
            label="Key or person"
            value={holderId}
            onChange={(event) => {
              setHolder(event.target.value)
              setQuestion({ ...question, mode: '' })
            }}
            options={[
              ...keys.map(({ id, name }) => [id, `Key: ${name}`] as const),
              ...people.map(({ id, name, email }) => [id, `Person: ${name || email}`] as const),
            ]}
          />
          <Field label="Permission" error={faultOf('permission')}>
            {(control) => (
              <>
                <input
                  {...control}
                  list="permissions"
                  required
                  className="control font-mono text-sm"
                  value={permission}
                  onChange={(event) => setPermission(event.target.value)}
                />
                <datalist id="permissions">
                  {permissions.map((one) => (
                    <option key={one} value={one} />
                  ))}
                </datalist>
              </>
            )}
          </Field>
          {isCall && <CallFields question={question} modes={modes} onChange={setQuestion} />}
          <TextField
            label="Resource"
            mono
            placeholder={suggested}
            value={resource}
            onChange={(event) => setResource(event.target.value)}
            hint="Format: qm:project:kind:id, for example qm:proj_…:tool:tool_…. Use * as the id of a resource that does not exist yet"
            error={faultOf('resource')}
          />
          <ErrorNotice error={check.error} />
          <Button variant="main" type="submit" busy={check.busy} disabled={holderId === ''}>
            Check access
          </Button>
        </form>
      </Panel>
      <div aria-live="polite">{check.data && <Verdict checked={check.data} />}</div>
    </div>
  )
}

const Verdict = ({ checked }: { checked: AccessCheck }) => (
  <Panel>
    <p className="flex flex-wrap items-center gap-2 text-base">
      <Badge tone={checked.allowed ? 'good' : 'bad'}>{checked.allowed ? 'allowed' : 'denied'}</Badge>
      {checked.reason}
      {checked.access_policy_id && (
        <Link
          to="/access/policies/$policyId"
          params={{ policyId: checked.access_policy_id }}
          className="text-sm text-accent hover:underline"
        >
          View policy
        </Link>
      )}
    </p>
    {checked.level && (
      <Row className="mt-3">
        <Badge>level {checked.level}</Badge>
        {checked.modes.map((slug) => (
          <Badge key={slug} tone="accent">
            mode {slug}
          </Badge>
        ))}
        {checked.allowed && checked.needs_approval !== null && (
          <Badge tone={checked.needs_approval ? 'warn' : 'good'}>
            {checked.needs_approval ? 'waits for approval' : 'runs without approval'}
          </Badge>
        )}
        {checked.sign_in_within_seconds !== null && (
          <Badge tone="warn">sign-in within {checked.sign_in_within_seconds} s</Badge>
        )}
      </Row>
    )}
  </Panel>
)
