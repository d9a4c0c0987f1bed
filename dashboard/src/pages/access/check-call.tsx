import { useModes, useServers, useToolActions, useTools } from '../../queries.ts'
import { Select } from '../../ui/field.tsx'
import { useAgents } from '../agents/records.ts'

/** The call that is asked about. Empty fields are left out. */
export interface CallQuestion {
  readonly tool: string
  readonly action: string
  readonly mode: string
  readonly server: string
  readonly agent: string
}

export const noQuestion: CallQuestion = { tool: '', action: '', mode: '', server: '', agent: '' }

export const questionOf = ({ tool, action, mode, server, agent }: CallQuestion) =>
  tool === '' || action === ''
    ? {}
    : {
        action,
        ...(mode && { mode }),
        ...(server && { server_id: server }),
        ...(agent && { agent_id: agent }),
      }

/** Selects the action of a call, and what its modes depend on. */
export function CallFields({
  question,
  modes,
  onChange,
}: {
  question: CallQuestion
  /** The modes of the key or person. */
  modes: readonly string[]
  onChange: (question: CallQuestion) => void
}) {
  const { data: tools = [] } = useTools()
  const { data: actions = [] } = useToolActions(question.tool, question.tool !== '')
  const { data: servers = [] } = useServers()
  const { data: agents = [] } = useAgents()
  const { data: allModes = [] } = useModes()
  const set = (change: Partial<CallQuestion>) => onChange({ ...question, ...change })
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <Select
          label="Tool"
          value={question.tool}
          onChange={({ target }) => set({ tool: target.value, action: '' })}
          options={[['', 'Any tool'], ...tools.map(({ id, name }) => [id, name] as const)]}
        />
        {question.tool !== '' && (
          <Select
            label="Action"
            value={question.action}
            onChange={({ target }) => set({ action: target.value })}
            options={[['', 'Any action, modes are not checked'], ...actions.map(({ name }) => [name, name] as const)]}
          />
        )}
      </div>
      {question.action !== '' && (
        <div className="grid gap-4 sm:grid-cols-3">
          <Select
            label="Chosen mode"
            value={question.mode}
            disabled={modes.length === 0}
            onChange={({ target }) => set({ mode: target.value })}
            options={[
              ['', modes.length === 0 ? 'None' : 'Default'],
              ...modes.map((slug) => [slug, nameOf(slug)] as const),
            ]}
          />
          <Select
            label="Through server"
            value={question.server}
            onChange={({ target }) => set({ server: target.value })}
            options={[['', 'None'], ...servers.map(({ id, name }) => [id, name] as const)]}
          />
          <Select
            label="By agent"
            value={question.agent}
            onChange={({ target }) => set({ agent: target.value })}
            options={[['', 'None'], ...agents.map(({ id, name }) => [id, name] as const)]}
          />
        </div>
      )}
    </>
  )

  function nameOf(slug: string): string {
    return allModes.find((mode) => mode.slug === slug)?.name ?? slug
  }
}
