import type { Server } from '../../api.ts'
import { useKeys, useMay, usePeople } from '../../queries.ts'
import { Checks } from '../../ui/checks.tsx'
import { Select } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useForm } from '../../use-form.ts'
import { saveServer, serverChanges } from './use-server.ts'

type Method = Server['access']['methods'][number]

const ways: Readonly<Record<string, readonly Method[]>> = {
  both: ['api_key', 'oauth'],
  api_key: ['api_key'],
  oauth: ['oauth'],
}

/** Which credentials the endpoint accepts, and whose. */
export function ServerAccess({ server: { id, access, updated_at } }: { server: Server }) {
  const form = useForm({
    start: {
      way: access.methods.length > 1 ? 'both' : (access.methods[0] ?? 'both'),
      who: access.users === null ? 'all' : 'chosen',
      users: (access.users ?? []) as readonly string[],
    },
    version: updated_at,
    save: ({ way, who, users }) =>
      saveServer(id, {
        access: { methods: [...(ways[way] ?? access.methods)], users: who === 'all' ? null : [...users] },
      }),
    changes: serverChanges,
  })
  const { draft, text, set } = form
  return (
    <Panel title="Access">
      <Form form={form} label="Save access">
        <Select
          label="Credentials"
          {...text('way', 'access.methods')}
          options={[
            ['both', 'API keys and OAuth'],
            ['api_key', 'API keys only'],
            ['oauth', 'OAuth only'],
          ]}
        />
        <Select
          label="Who can use it"
          {...text('who', 'access.users')}
          options={[
            ['all', 'Everyone whose access policies allow it'],
            ['chosen', 'Only selected people and keys'],
          ]}
          hint="Selected people and keys also need access policies"
        />
        {draft.who === 'chosen' && <Principals chosen={draft.users} onChange={(users) => set({ users })} />}
      </Form>
    </Panel>
  )
}

function Principals({ chosen, onChange }: { chosen: readonly string[]; onChange: (ids: readonly string[]) => void }) {
  const seesPeople = useMay('users:ListUsers')
  const { data: keys = [] } = useKeys()
  const { data: people = [] } = usePeople(seesPeople)
  const known = [
    ...people.map(({ id, name, email }) => ({ id, name, hint: email })),
    ...keys.map(({ id, name }) => ({ id, name, hint: 'API key' })),
  ]
  const others = chosen.filter((id) => !known.some((one) => one.id === id))
  return (
    <Checks
      label="People and keys"
      options={[...known, ...others.map((id) => ({ id, name: id, hint: null }))]}
      chosen={chosen}
      onChange={onChange}
    />
  )
}
