import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ask, type Body, qm } from '../../api.ts'
import { plural } from '../../format.ts'
import { useProjectId } from '../../project.ts'
import { useMay } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { TextView } from '../../ui/text.tsx'
import { useAction } from '../../use-action.ts'

/** Shows selected calls as a workflow, and creates it. */
export function MakeWorkflow({ callIds, onClose }: { callIds: readonly string[]; onClose: () => void }) {
  const [name, setName] = useState('recorded')
  const draft = useQuery({
    queryKey: ['workflow-draft', callIds, name],
    queryFn: () => ask(qm.calls.draftWorkflow({ body: { call_ids: [...callIds], name: name || 'recorded' } })),
    placeholderData: (before) => before,
    retry: false,
  })
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`A workflow of ${plural(callIds.length, 'call')}`}
      description="Values of earlier outputs became expressions, other values became input. Check it before you create it."
    >
      <Answered query={draft}>
        {({ yaml, problems, workflow }) => (
          <div className="space-y-3">
            <label className="block text-sm font-medium">
              Name
              <input
                className="control mt-1 block w-full"
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            </label>
            {problems.map(({ path, message, severity }) => (
              <p key={`${path} ${message}`} className={`text-sm ${severity === 'error' ? 'text-bad' : 'text-warn'}`}>
                <code className="font-mono text-xs">{path}</code> {message}
              </p>
            ))}
            <TextView text={yaml} name="quartermaster.yaml" />
            <Create name={name} workflow={workflow} />
          </div>
        )}
      </Answered>
    </Dialog>
  )
}

function Create({ name, workflow }: { name: string; workflow: NonNullable<Body<'tools', 'createTool'>['workflow']> }) {
  const navigate = useNavigate()
  const projectId = useProjectId()
  const mayCreate = useMay('tools:CreateTool')
  const create = useAction(
    () =>
      ask(
        qm.tools.createTool({
          body: { name, type: 'workflow', workflow, ...(projectId && { project_id: projectId }) },
        }),
      ),
    {
      changes: ['tools'],
      onDone: ({ id }) => void navigate({ to: '/tools/$toolId', params: { toolId: id }, search: { tab: 'graph' } }),
    },
  )
  if (!mayCreate) return null
  return (
    <>
      <ErrorNotice error={create.error} />
      <div className="flex justify-end">
        <Button variant="main" busy={create.busy} onClick={() => create.run()}>
          Create workflow
        </Button>
      </div>
    </>
  )
}
