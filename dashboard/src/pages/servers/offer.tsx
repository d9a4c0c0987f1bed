import { useState } from 'react'
import type { Server, Tool } from '../../api.ts'
import { plural } from '../../format.ts'
import { useSkills, useToolActions, useTools } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Form } from '../../ui/form.tsx'
import { Answered, ErrorNotice, Loading } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useForm } from '../../use-form.ts'
import { saveServer, serverChanges } from './use-server.ts'

type Choice = Map<string, { readonly actions?: readonly string[]; readonly workflows?: readonly string[] }>

const choiceOf = ({ apps }: Server): Choice | null =>
  apps && new Map(apps.map(({ slug, ...rest }) => [slug, rest] as const))

const appsOf = (choice: Choice) =>
  [...choice].map(([slug, { actions, workflows }]) => ({
    slug,
    ...(actions && { actions: [...actions] }),
    ...(workflows && { workflows: [...workflows] }),
  }))

/** Selects the apps, actions and skills that the server offers. */
export function Offer({ server }: { server: Server }) {
  const tools = useTools()
  // A selection starts with everything, so everything must be loaded first.
  return <Answered query={tools}>{(all) => <OfferForm server={server} tools={all} />}</Answered>
}

function OfferForm({ server, tools }: { server: Server; tools: readonly Tool[] }) {
  const { data: skills = [] } = useSkills()
  const form = useForm({
    start: { choice: choiceOf(server), skillIds: server.skill_ids },
    version: server.updated_at,
    save: ({ choice, skillIds }) => saveServer(server.id, { apps: choice && appsOf(choice), skill_ids: skillIds }),
    changes: serverChanges,
  })
  const { choice, skillIds } = form.draft
  const setChoice = (choice: Choice | null) => form.set({ choice })
  const setSkillIds = (skillIds: string[] | null) => form.set({ skillIds })

  const own = tools.filter(({ project_id }) => project_id === server.project_id)
  const byApp = Map.groupBy(own, ({ app }) => app)
  const slugs = [...new Set([...byApp.keys(), ...(choice?.keys() ?? [])])].sort()
  const setApp = (slug: string, value: { readonly actions?: readonly string[] } | undefined) => {
    const next = new Map(choice ?? [])
    if (value) next.set(slug, value)
    else next.delete(slug)
    setChoice(next)
  }

  return (
    <Form form={form} label="Save" className="max-w-3xl">
      <Panel title="Apps and actions">
        <fieldset className="space-y-1 text-sm">
          <legend className="sr-only">Apps</legend>
          <Radio checked={choice === null} onChange={() => setChoice(null)}>
            Everything in the project, including future additions
          </Radio>
          <Radio
            checked={choice !== null}
            onChange={() => setChoice(choice ?? new Map([...byApp.keys()].map((slug) => [slug, {}])))}
          >
            Only selected
          </Radio>
        </fieldset>
        {choice && (
          <ul className="mt-3 divide-y divide-line rounded-md border border-line">
            {slugs.length === 0 && <li className="p-3 text-sm text-soft">No tools yet.</li>}
            {slugs.map((slug) => (
              <App
                key={slug}
                slug={slug}
                tools={byApp.get(slug) ?? []}
                chosen={choice.get(slug)}
                onChange={(value) => setApp(slug, value)}
              />
            ))}
          </ul>
        )}
      </Panel>
      <Panel title="Skills">
        {!server.retrieve_skill && (
          <p className="mb-2 text-sm text-soft">Skills are disabled for this server. Enable them in Settings.</p>
        )}
        <fieldset className="space-y-1 text-sm">
          <legend className="sr-only">Skills</legend>
          <Radio checked={skillIds === null} onChange={() => setSkillIds(null)}>
            All skills in the project
          </Radio>
          <Radio checked={skillIds !== null} onChange={() => setSkillIds(skillIds ?? [])}>
            Only selected
          </Radio>
        </fieldset>
        {skillIds && (
          <ul className="mt-3 space-y-1 text-sm">
            {skills.length === 0 && <li className="text-soft">No skills yet.</li>}
            {skills.map(({ id, name }) => (
              <li key={id}>
                <label className="flex items-center gap-2">
                  <input
                    type="checkbox"
                    className="accent-accent"
                    checked={skillIds.includes(id)}
                    onChange={(event) =>
                      setSkillIds(event.target.checked ? [...skillIds, id] : skillIds.filter((one) => one !== id))
                    }
                  />
                  {name}
                </label>
              </li>
            ))}
          </ul>
        )}
      </Panel>
    </Form>
  )
}

const Radio = ({ checked, onChange, children }: { checked: boolean; onChange: () => void; children: string }) => (
  <label className="flex items-center gap-2">
    <input type="radio" className="accent-accent" checked={checked} onChange={onChange} />
    {children}
  </label>
)

function App({
  slug,
  tools,
  chosen,
  onChange,
}: {
  slug: string
  tools: readonly Tool[]
  chosen: { readonly actions?: readonly string[] } | undefined
  onChange: (value: { readonly actions?: readonly string[] } | undefined) => void
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <li className="px-3 py-2 text-sm">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <label className="flex min-w-0 items-center gap-2 font-mono">
          <input
            type="checkbox"
            className="accent-accent"
            checked={chosen !== undefined}
            onChange={(event) => onChange(event.target.checked ? {} : undefined)}
          />
          <span className="break-all">{slug}</span>
        </label>
        <span className="text-xs text-soft">
          {tools.length === 0
            ? 'app no longer exists'
            : chosen?.actions
              ? plural(chosen.actions.length, 'action')
              : chosen
                ? 'all actions'
                : 'not offered'}
        </span>
        {chosen && tools.length > 0 && (
          <Button variant="quiet" className="ml-auto" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Close' : 'Choose actions'}
          </Button>
        )}
      </div>
      {isOpen && chosen && (
        <div className="mt-2 ml-6">
          <Button variant="quiet" onClick={() => onChange({})} disabled={!chosen.actions}>
            All, including future ones
          </Button>
          <ul className="max-h-64 overflow-y-auto">
            {tools.map((tool) => (
              <Actions
                key={tool.id}
                tool={tool}
                chosen={chosen.actions}
                onChange={(actions) => onChange({ actions })}
              />
            ))}
          </ul>
        </div>
      )}
    </li>
  )
}

function Actions({
  tool,
  chosen,
  onChange,
}: {
  tool: Tool
  /** Undefined for all. */
  chosen: readonly string[] | undefined
  onChange: (actions: readonly string[]) => void
}) {
  const { data, error } = useToolActions(tool.id)
  if (error) return <ErrorNotice error={error} />
  if (!data) return <Loading />
  const isOn = (name: string) => chosen === undefined || chosen.includes(name)
  return data.map(({ id, name }) => (
    <li key={id}>
      <label className="flex items-center gap-2 py-0.5 font-mono text-xs">
        <input
          type="checkbox"
          className="accent-accent"
          checked={isOn(name)}
          onChange={(event) => {
            const before = chosen ?? data.map((action) => action.name)
            onChange(event.target.checked ? [...before, name] : before.filter((one) => one !== name))
          }}
        />
        <span className="break-all">{name}</span>
      </label>
    </li>
  ))
}
