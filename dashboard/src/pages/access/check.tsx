import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, qm } from '../../api.ts'
import { usePermissions } from '../../operations.ts'
import { useKeys, useMay, usePeople, useProjects } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Field, Select, TextField } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { faultsOf } from '../../use-form.ts'

/** Shows whether a key or person has a permission on a resource, and which policy decides. */
export function Check() {
  const { data: keys = [] } = useKeys()
  const { data: people = [] } = usePeople(useMay('users:ListUsers'))
  const { data: permissions = [] } = usePermissions()
  const { data: projects = [] } = useProjects()
  const [chosen, setChosen] = useState('')
  const [permission, setPermission] = useState('tools:CallTool')
  const [resource, setResource] = useState('')
  const kind = (permission.split(':')[0] ?? 'tool').replace(/ies$/, 'y').replace(/s$/, '')
  const suggested = `qm:${projects[0]?.id ?? '*'}:${kind}:*`
  const holders = [
    ...keys.map(({ id, name }) => [id, `Key: ${name}`] as const),
    ...people.map(({ id, name, email }) => [id, `Person: ${name || email}`] as const),
  ]
  const holder = chosen || holders[0]?.[0] || ''
  const isPerson = people.some(({ id }) => id === holder)
  const check = useAction(() =>
    ask(
      qm.accessPolicies.checkAccess({
        body: {
          ...(isPerson ? { user_id: holder } : { api_key_id: holder }),
          permission,
          resource: resource.trim() || suggested,
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
            value={holder}
            onChange={(event) => setChosen(event.target.value)}
            options={holders}
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
          <Button variant="main" type="submit" busy={check.busy} disabled={holder === ''}>
            Check access
          </Button>
        </form>
      </Panel>
      <div aria-live="polite">
        {check.data && (
          <Panel>
            <p className="flex flex-wrap items-center gap-2 text-base">
              <Badge tone={check.data.allowed ? 'good' : 'bad'}>{check.data.allowed ? 'allowed' : 'denied'}</Badge>
              {check.data.reason}
              {check.data.access_policy_id && (
                <Link
                  to="/access/policies/$policyId"
                  params={{ policyId: check.data.access_policy_id }}
                  className="text-sm text-accent hover:underline"
                >
                  View policy
                </Link>
              )}
            </p>
          </Panel>
        )}
      </div>
    </div>
  )
}
