import type { Server } from '../../api.ts'
import { count, plural } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { useFootprint, useSaveServer } from './use-server.ts'

/** The tokens that the tool list costs in every conversation. */
export function Footprint({ server }: { server: Server }) {
  const save = useSaveServer(server)
  const footprint = useFootprint(server)
  return (
    <Answered query={footprint}>
      {({ direct, agent, mode, advice, tokenizer }) => {
        const largest = Math.max(direct.tokens, agent.tokens, 1)
        return (
          <div className="max-w-2xl space-y-4">
            <Panel title="Tokens per conversation">
              <dl className="space-y-4">
                {[['direct', direct] as const, ['agent', agent] as const].map(([name, cost]) => (
                  <div key={name}>
                    <dt className="mb-1 flex justify-between text-sm">
                      <span className="font-medium">
                        {name === 'direct' ? 'Direct mode' : 'Agent mode'}{' '}
                        {name === mode && <Badge tone="accent">current</Badge>}
                      </span>
                      <span className="text-soft">{plural(cost.tools, 'tool')}</span>
                    </dt>
                    <dd className="flex items-center gap-3">
                      <span className="h-3 flex-1 rounded-sm bg-sunken">
                        <span
                          className={`block h-3 rounded-sm ${name === mode ? 'bg-accent' : 'bg-edge'}`}
                          style={{ width: `${Math.max(1, (cost.tokens / largest) * 100)}%` }}
                        />
                      </span>
                      <span className="w-28 text-right text-sm tabular-nums">{count(cost.tokens)} tokens</span>
                    </dd>
                  </div>
                ))}
              </dl>
              <p className="mt-4 text-sm">{advice.reason}</p>
              {advice.mode !== mode && (
                <Button
                  className="mt-2"
                  busy={save.busy}
                  onClick={() => save.run({ agent_mode: advice.mode === 'agent' })}
                >
                  Switch to {advice.mode} mode
                </Button>
              )}
              <ErrorNotice error={save.error} />
            </Panel>
            <p className="text-xs text-soft">
              Names, descriptions and schemas of the tools your key can use, counted with {tokenizer}.
            </p>
          </div>
        )
      }}
    </Answered>
  )
}
