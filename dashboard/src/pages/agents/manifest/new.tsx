import { useNavigate } from '@tanstack/react-router'
import { useNewProject } from '../../../shell/project-field.tsx'
import { HelpLink } from '../../../ui/help-link.tsx'
import { PageHead } from '../../../ui/panel.tsx'
import { ManifestEditor } from './editor.tsx'

const start = `id: tea-desk
agent_config:
  llms:
    generation: { provider: openai-compatible, base_url: "http://127.0.0.1:11434/v1", model: qwen3 }
  mcps: []            # - { id: shop, hostname: https://tools.example.com, port: 443 }
  context:
    description: You take orders in a tea house.
    policies:
      - id: polite
        action: Be polite.
    routines:
      - id: order
        title: Order
        conditions: [the customer wants tea]
        entry: which
        nodes:
          - id: which
            chat_state: Ask which tea the customer wants.
            transitions: [{ to: confirm, condition: the customer named a tea }]
          - id: confirm
            chat_state: Confirm the order.
`

/** A new agent with policies and routines. */
export function NewManifest() {
  const navigate = useNavigate()
  const { inProject, field } = useNewProject()
  return (
    <>
      <PageHead title="New guided agent" actions={field}>
        A manifest describes an agent with its models, MCP servers, policies and routines.{' '}
        <HelpLink guide="guided-agents">Guide</HelpLink>
      </PageHead>
      <ManifestEditor
        start={start}
        projectId={inProject.project_id}
        onApplied={({ id }) => void navigate({ to: '/agents/$agentId', params: { agentId: id } })}
      />
    </>
  )
}
