import { useState } from 'react'
import { type ApiKey, ask, qm } from '../../api.ts'
import { ago, when } from '../../format.ts'
import { useKeys, usePolicies, useProjects, useSession } from '../../queries.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, CopyButton, Row } from '../../ui/button.tsx'
import { Checks } from '../../ui/checks.tsx'
import { ConfirmButton, Dialog } from '../../ui/dialog.tsx'
import { Select, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Listing } from '../../ui/listing.tsx'
import { ModesField } from '../../ui/modes-field.tsx'
import { Empty } from '../../ui/notice.tsx'
import type { Column } from '../../ui/table.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'

export function Keys() {
  const keys = useKeys()
  const columns = useColumns()
  const [isOpen, setOpen] = useState(false)
  const add = (
    <Button variant="main" icon="plus" onClick={() => setOpen(true)}>
      New key
    </Button>
  )
  return (
    <>
      <div className="mb-3 flex justify-end">{add}</div>
      <Listing
        query={keys}
        label="API keys"
        columns={columns}
        empty={
          <Empty title="No API keys" action={add}>
            Create a separate key for each client, application and person, so that you can tell them apart in the call
            log.
          </Empty>
        }
      />
      {isOpen && <NewKey onClose={() => setOpen(false)} />}
    </>
  )
}

const lastUse = (time: string | null): string => (time ? ago(time) : 'never used')

function useColumns(): Column<ApiKey>[] {
  const { data: policies = [] } = usePolicies()
  const { data: session } = useSession()
  const remove = useAction((id: string) => ask(qm.apiKeys.deleteApiKey({ path: { api_key_id: id } })), {
    changes: ['api-keys', 'session'],
  })
  const nameOf = (id: string) => policies.find((policy) => policy.id === id)?.name ?? id
  return [
    {
      name: 'Name',
      cell: ({ id, name, key_prefix, expires_at, access_policy_ids, last_used_at }) => (
        <>
          <span className="font-medium break-words">{name}</span>{' '}
          {session?.principal.id === id && <Badge tone="accent">this session</Badge>}{' '}
          {expires_at && (
            <Badge tone={Date.parse(expires_at) < Date.now() ? 'bad' : 'plain'}>
              {Date.parse(expires_at) < Date.now() ? 'expired' : `expires ${when(expires_at)}`}
            </Badge>
          )}
          <div className="font-mono text-xs text-soft">{key_prefix}…</div>
          <div className="mt-0.5 text-xs text-soft md:hidden">
            {access_policy_ids.map(nameOf).join(', ') || 'no policies'} · {lastUse(last_used_at)}
          </div>
        </>
      ),
    },
    {
      name: 'Policies',
      wideOnly: true,
      cell: ({ access_policy_ids, modes }) =>
        access_policy_ids.length === 0 ? (
          <span className="text-soft">none</span>
        ) : (
          <Row>
            {access_policy_ids.map((id) => (
              <Badge key={id}>{nameOf(id)}</Badge>
            ))}
            {modes.map((slug) => (
              <Badge key={slug} tone="accent">
                mode {slug}
              </Badge>
            ))}
          </Row>
        ),
    },
    {
      name: 'Last used',
      wideOnly: true,
      cell: ({ last_used_at }) => <span className="text-soft">{lastUse(last_used_at)}</span>,
    },
    {
      name: 'Action',
      end: true,
      cell: ({ id, name }) => (
        <ConfirmButton
          label="Revoke"
          variant="quiet"
          title={`Revoke ${name}?`}
          confirm="Revoke key"
          onConfirm={() => remove.runAsync(id)}
        >
          Requests with this key stop working immediately
          {session?.principal.id === id ? ', and you will be signed out' : ''}. This cannot be undone.
        </ConfirmButton>
      ),
    },
  ]
}

const lives = [
  ['', 'Never'],
  ['1', 'In 1 day'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In 1 year'],
] as const

function NewKey({ onClose }: { onClose: () => void }) {
  const { data: policies = [] } = usePolicies()
  const { data: projects = [] } = useProjects()
  const form = useForm({
    start: {
      name: '',
      chosen: ['pol_caller'] as readonly string[],
      modes: [] as readonly string[],
      projectId: '',
      days: '',
    },
    save: ({ name, chosen, modes, projectId, days }) =>
      ask(
        qm.apiKeys.createApiKey({
          body: {
            name: name.trim(),
            access_policy_ids: [...chosen],
            modes: [...modes],
            ...(projectId && { project_id: projectId }),
            ...(days && { expires_at: new Date(Date.now() + Number(days) * 86_400_000).toISOString() }),
          },
        }),
      ),
    changes: ['api-keys'],
  })
  const { draft, set, text } = form
  if (form.data) {
    return (
      <Dialog open onClose={onClose} title="API key created" description="Copy the key now. It is not shown again.">
        <div className="space-y-3">
          <code data-testid="new-key" className="block rounded-md bg-sunken p-3 font-mono text-sm break-all select-all">
            {form.data.key}
          </code>
          <Row className="justify-end">
            <CopyButton text={form.data.key} label="Copy key" />
            <Button variant="main" onClick={onClose}>
              Done
            </Button>
          </Row>
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog open onClose={onClose} title="New API key">
      <Form form={form} label="Create key" onCancel={onClose}>
        <TextField
          label="Name"
          required
          placeholder="cursor on my laptop"
          {...text('name')}
          hint="Who or what uses the key. Shown in the call log"
        />
        <Checks
          label="Access policies"
          options={policies.map(({ id, name, description }) => ({ id, name, hint: description }))}
          chosen={draft.chosen}
          onChange={(chosen) => set({ chosen })}
        />
        <ModesField chosen={draft.modes} onChange={(modes) => set({ modes })} />
        <div className="grid gap-4 sm:grid-cols-2">
          <Select
            label="Project"
            {...text('projectId', 'project_id')}
            options={[['', 'All projects'], ...projects.map((project) => [project.id, project.name] as const)]}
          />
          <Select label="Expires" {...text('days', 'expires_at')} options={lives} />
        </div>
      </Form>
    </Dialog>
  )
}
