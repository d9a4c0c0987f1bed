import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, qm } from '../../api.ts'
import { usePermissions } from '../../operations.ts'
import { useKeys, useProjects } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Field, Select, TextField } from '../../ui/field.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useAction } from '../../use-action.ts'
import { faultsOf } from '../../use-form.ts'

/** Shows whether a key has a permission on a resource, and which policy decides. */
export function Check() {
  const { data: keys = [] } = useKeys()
  const { data: permissions = [] } = usePermissions()
  const { data: projects = [] } = useProjects()
  const [key, setKey] = useState('')
  const [permission, setPermission] = useState('tools:CallTool')
  const [resource, setResource] = useState('')
  const kind = (permission.split(':')[0] ?? 'tool').replace(/ies$/, 'y').replace(/s$/, '')
  const suggested = `qm:${projects[0]?.id ?? '*'}:${kind}:*`
  const keyId = key || keys[0]?.id || ''
  const check = useAction(() =>
    ask(
      qm.accessPolicies.checkAccess({
        body: { api_key_id: keyId, permission, resource: resource.trim() || suggested },
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
            label="Key"
            value={keyId}
            onChange={(event) => setKey(event.target.value)}
            options={keys.map(({ id, name }) => [id, name] as const)}
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
          <Button variant="main" type="submit" busy={check.busy} disabled={keyId === ''}>
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
