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

/** The recorded responses, as a script for a replay provider. */
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
          <Empty title="No recording">
            {provider.record
              ? 'Chat with an agent that uses this provider to record its responses.'
              : 'Turn on “Record” in the settings to record responses as a script.'}
          </Empty>
        ) : (
          <Panel
            title={plural(steps, 'answer')}
            aside={
              <span className="flex flex-wrap gap-2">
                <Button busy={make.busy} onClick={() => make.run(script)}>
                  Create replay provider
                </Button>
                <ConfirmButton
                  label="Delete"
                  title="Delete recording?"
                  confirm="Delete recording"
                  onConfirm={() => forget.runAsync()}
                >
                  All recorded responses are deleted. This cannot be undone.
                </ConfirmButton>
              </span>
            }
          >
            <ErrorNotice error={make.error} />
            <p className="mb-2 text-sm text-soft">
              The recording contains conversations. Review it before you share it.
            </p>
            <TextView text={script} name="recording.yaml" />
          </Panel>
        )
      }
    </Answered>
  )
}
