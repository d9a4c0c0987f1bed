import { ask, qm, type Tool } from '../../api.ts'
import { ago, plural } from '../../format.ts'
import { useDefinitionChanges } from '../../queries.ts'
import { Button } from '../../ui/button.tsx'
import { Diff } from '../../ui/diff.tsx'
import { Answered, ErrorNotice } from '../../ui/notice.tsx'
import { Panel } from '../../ui/panel.tsx'
import { JsonView } from '../../ui/text.tsx'
import { useAction } from '../../use-action.ts'

/** Changed definitions to review. Accepting applies only to the definitions shown here. */
export function DefinitionChanges({ tool }: { tool: Tool }) {
  const changes = useDefinitionChanges(tool.id)
  const accept = useAction(
    (read: readonly Change[]) => {
      const hashes = Object.fromEntries(read.map(({ name, hash }) => [name, hash]))
      return ask(qm.tools.acceptDefinitions({ path: { tool_id: tool.id }, body: { hashes } }))
    },
    { changes: ['tool-actions', 'definition-changes'] },
  )
  return (
    <Answered query={changes}>
      {(all) => (
        <section aria-label="Definition changes" className="space-y-3">
          <div className="flex flex-wrap items-center justify-between gap-2 rounded-md border border-warn/40 bg-warn-wash px-3 py-2 text-sm">
            {plural(all.length, 'action')} changed. Calls are blocked until you review and accept the new{' '}
            {all.length === 1 ? 'definition' : 'definitions'}.
            {all.length > 1 && (
              <Button busy={accept.busy} onClick={() => accept.run(all)}>
                Accept all {all.length}
              </Button>
            )}
          </div>
          <ErrorNotice error={accept.error} retry={() => void changes.refetch().then(accept.reset)} />
          {all.map((change) => (
            <Panel
              key={change.name}
              title={<code className="font-mono text-sm break-all">{change.name}</code>}
              aside={
                <span className="flex items-center gap-2 text-sm text-soft">
                  changed {ago(change.changed_at)}
                  <Button busy={accept.busy} onClick={() => accept.run([change])}>
                    Accept
                  </Button>
                </span>
              }
            >
              <What change={change} />
            </Panel>
          ))}
        </section>
      )}
    </Answered>
  )
}

type Change = NonNullable<ReturnType<typeof useDefinitionChanges>['data']>[number]

function What({ change: { accepted, current } }: { change: Change }) {
  if (!current)
    return <p className="text-sm text-soft">The new definition is too long to compare. It is shown below.</p>
  if (accepted) return <Diff before={text(accepted)} after={text(current)} />
  return (
    <>
      <p className="mb-2 text-sm text-soft">The previous definition is not available. Current definition:</p>
      <JsonView value={current} name="definition.json" />
    </>
  )
}

const text = (definition: object): string => JSON.stringify(definition, null, 2)
