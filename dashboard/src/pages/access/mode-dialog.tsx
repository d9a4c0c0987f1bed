import { ask, type Mode, qm } from '../../api.ts'
import { useServers } from '../../queries.ts'
import { useNewProject } from '../../shell/project-field.tsx'
import { Row } from '../../ui/button.tsx'
import { Checks } from '../../ui/checks.tsx'
import { ConfirmButton, Dialog } from '../../ui/dialog.tsx'
import { Select, TextArea, TextField } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { ErrorNotice } from '../../ui/notice.tsx'
import { useAction } from '../../use-action.ts'
import { useForm } from '../../use-form.ts'

const levels = [
  { id: 'restricted', name: 'Restricted', hint: 'Sensitive operations' },
  { id: 'administrative', name: 'Administrative', hint: 'System-critical operations and configuration' },
]

const groups = [
  { id: 'read', name: 'Read', hint: 'Declared to change nothing' },
  { id: 'write', name: 'Write', hint: 'Adds, but keeps existing data' },
  { id: 'destructive', name: 'Destructive', hint: 'May change or delete existing data' },
]

const ages = [
  ['', 'Not required'],
  ['60', 'In the last minute'],
  ['300', 'In the last 5 minutes'],
  ['900', 'In the last 15 minutes'],
  ['3600', 'In the last hour'],
] as const

const linesOf = (text: string): string[] =>
  text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter(Boolean)

const draftOf = (mode: Mode | undefined) => ({
  slug: mode?.slug ?? '',
  name: mode?.name ?? '',
  description: mode?.description ?? '',
  levels: (mode?.levels ?? []) as readonly string[],
  groups: (mode?.groups ?? groups.map(({ id }) => id)) as readonly string[],
  tools: mode?.tools?.join('\n') ?? '',
  servers: (mode?.servers ?? []) as readonly string[],
  seconds: String(mode?.sign_in_within_seconds ?? ''),
})

function bodyOf(draft: ReturnType<typeof draftOf>) {
  const tools = linesOf(draft.tools)
  return {
    name: draft.name.trim(),
    description: draft.description.trim() || null,
    levels: draft.levels as Mode['levels'],
    groups: draft.groups.length === groups.length ? null : (draft.groups as NonNullable<Mode['groups']>),
    tools: tools.length === 0 ? null : tools,
    servers: draft.servers.length === 0 ? null : [...draft.servers],
    sign_in_within_seconds: draft.seconds === '' ? null : Number(draft.seconds),
  }
}

/** Creates or changes a mode. */
export function ModeDialog({ mode, onClose }: { mode: Mode | undefined; onClose: () => void }) {
  const { inProject, field } = useNewProject()
  const { data: servers = [] } = useServers()
  const form = useForm({
    start: draftOf(mode),
    save: (draft) =>
      ask(
        mode
          ? qm.modes.updateMode({ path: { mode_id: mode.id }, body: bodyOf(draft) })
          : qm.modes.createMode({ body: { ...inProject, slug: draft.slug.trim(), ...bodyOf(draft) } }),
      ),
    changes: ['modes'],
    onDone: onClose,
  })
  const { draft, set, text } = form
  const known = ages.some(([value]) => value === draft.seconds)
  return (
    <Dialog open onClose={onClose} title={mode ? mode.name : 'New mode'}>
      <Form form={form} label={mode ? 'Save' : 'Create mode'} onCancel={onClose}>
        {!mode && field}
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField label="Name" required {...text('name')} />
          <TextField label="Slug" mono required disabled={mode !== undefined} placeholder="support" {...text('slug')} />
        </div>
        <TextField label="Description" {...text('description')} />
        <Checks
          label="Levels without approval, besides open"
          options={levels}
          chosen={draft.levels}
          onChange={(chosen) => set({ levels: chosen })}
        />
        <Checks
          label="Groups of actions"
          options={groups}
          chosen={draft.groups}
          onChange={(chosen) => set({ groups: chosen })}
        />
        <TextArea
          label="Tools"
          mono
          rows={3}
          placeholder="crm:*"
          {...text('tools')}
          hint="One action per line, such as crm:get_contact or crm:*. Empty: all"
        />
        {servers.length > 0 && (
          <Checks
            label="Servers (none selected: all)"
            options={servers.map(({ slug, name }) => ({ id: slug, name, hint: slug }))}
            chosen={draft.servers}
            onChange={(chosen) => set({ servers: chosen })}
          />
        )}
        <Select
          label="Recent sign-in"
          {...text('seconds', 'sign_in_within_seconds')}
          options={known ? ages : [...ages, [draft.seconds, `In the last ${draft.seconds} seconds`]]}
          hint="For actions above open. API keys cannot use them then"
        />
      </Form>
      {mode && <Remove mode={mode} onClose={onClose} />}
    </Dialog>
  )
}

function Remove({ mode, onClose }: { mode: Mode; onClose: () => void }) {
  const remove = useAction(() => ask(qm.modes.deleteMode({ path: { mode_id: mode.id } })), {
    changes: ['modes'],
    onDone: onClose,
  })
  return (
    <div className="mt-4 border-t border-line pt-4">
      <ErrorNotice error={remove.error} />
      <Row>
        <ConfirmButton
          label="Delete"
          title={`Delete ${mode.name}?`}
          confirm="Delete mode"
          onConfirm={() => remove.runAsync()}
        >
          Keys, people, agents and sessions with this mode cannot call tools until they have another one.
        </ConfirmButton>
      </Row>
    </div>
  )
}
