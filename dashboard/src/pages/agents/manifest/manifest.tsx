import { useQuery } from '@tanstack/react-query'
import { ask, qm } from '../../../api.ts'
import { Answered } from '../../../ui/notice.tsx'
import type { Agent } from '../records.ts'
import { ManifestEditor } from './editor.tsx'

/** The manifest of an agent. */
export function Manifest({ agent }: { agent: Agent }) {
  const manifest = useQuery({
    queryKey: ['agent-manifest', agent.id, 'text'],
    queryFn: () => ask(qm.agents.getAgentManifest({ path: { agent_id: agent.id } })),
  })
  return (
    <Answered query={manifest}>
      {({ manifest: stored }) => (
        <ManifestEditor stored={stored} start={stored} projectId={agent.project_id} onApplied={() => {}} />
      )}
    </Answered>
  )
}
