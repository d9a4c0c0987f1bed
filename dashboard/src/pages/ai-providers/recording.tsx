import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ask, qm } from '../../api.ts'
import { plural } from '../../format.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmButton } from '../../ui/dialog.tsx'
import { Answered, Empty, ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { TextView } from '../../ui/text.tsx'
import { useAction } from '../../use-action.ts'
import type { AiProvider } from '../agents/records.ts'

/** What the provider has answered, as a script that a replay provider plays. */
export function Recording({ provider }: { provider: AiProvider }) {
  const navigate = useNavigate()
  const path = { ai_provider_id: provider.id }
  const recording = useQuery({
    queryKey: ['recording', provider.id],
    queryFn: () => ask(qm.aiProviders.getAiProviderRecording({ path })),
  })
  const forget = useAction(() => ask(qm.aiProviders.deleteAiProviderRecording({ path })), { changes: ['recording'] })
  const make = useAction(
    (script: string) =>
      ask(
        qm.aiProviders.createAiProvider({
          body: { project_id: provider.project_id, name: `${provider.name}, recorded`, type: 'replay', script },
        }),
      ),
    {
      changes: ['ai-providers'],
      onDone: ({ id }) => void navigate({ to: '/ai-providers/$providerId', params: { providerId: id } }),
    },
  )
  return (
    <Answered query={recording}>
      {({ steps, script }) =>
        script === null ? (
          <Empty title="Nothing is recorded">
            {provider.record
              ? 'Talk to an agent that asks this provider, and its answers appear here.'
              : 'Turn “Record” on in the settings: what it answers is then kept here, as a script.'}
          </Empty>
        ) : (
          <Panel
            title={plural(steps, 'answer')}
            aside={
              <span className="flex flex-wrap gap-2">
                <Button busy={make.busy} onClick={() => make.run(script)}>
                  Make a replay provider of it
                </Button>
                <ConfirmButton
                  label="Delete"
                  title="Delete the recording?"
                  confirm="Delete the recording"
                  onConfirm={() => forget.runAsync()}
                >
                  What was recorded of it is gone. This cannot be undone.
                </ConfirmButton>
              </span>
            }
          >
            <ErrorNotice error={make.error} />
            <p className="mb-2 text-sm text-soft">It holds what was said: look at it before you share it.</p>
            <TextView text={script} name="recording.yaml" />
          </Panel>
        )
      }
    </Answered>
  )
}
