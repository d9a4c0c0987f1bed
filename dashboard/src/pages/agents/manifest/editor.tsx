import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { ask, type Body, Failure, qm } from '../../../api.ts'
import { plural } from '../../../format.ts'
import { Button, Row } from '../../../ui/button.tsx'
import { Diff } from '../../../ui/diff.tsx'
import { ErrorNotice } from '../../../ui/notice.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { useAction } from '../../../use-action.ts'
import type { Routine } from '../../sessions/records.ts'
import { RoutineGraph } from '../../sessions/routine-graph.tsx'
import type { Agent } from '../records.ts'
import { goTo, TextEditor } from './text-editor.tsx'

interface Problem {
  readonly line: number
  readonly column: number
  readonly path: string
  readonly message: string
}

/** Edits a manifest, checks it while you type, and applies it. */
export function ManifestEditor({
  stored,
  start,
  projectId,
  onApplied,
}: {
  /** The manifest that applies now; undefined for a new agent. */
  stored?: string
  start: string
  projectId: string | undefined
  onApplied: (agent: Agent) => void
}) {
  const [text, setText] = useState(start)
  const area = useRef<HTMLTextAreaElement>(null)
  const checked = useCheck(text)
  const routines = useRoutines(checked)
  const apply = useAction(
    (manifest: string) => {
      const body: Body<'manifests', 'applyManifest'> = { manifest, ...(projectId && { project_id: projectId }) }
      return ask(qm.manifests.applyManifest({ body }))
    },
    { changes: ['agent', 'agents', 'agent-manifest', 'tools'], onDone: ({ agent }) => onApplied(agent) },
  )
  // What only the servers know, such as a tool that they do not have.
  const refused = apply.error instanceof Failure && apply.error.code === 'MANIFEST_INVALID' ? apply.error : undefined
  const problems = [...(checked?.errors ?? []), ...((refused?.faults ?? []) as Problem[])]
  const isChanged = text !== stored
  return (
    <div className="grid gap-4 lg:grid-cols-[3fr_2fr]">
      <div className="min-w-0 space-y-4">
        <TextEditor
          label="Manifest"
          text={text}
          area={area}
          faulty={new Set(problems.map(({ line }) => line))}
          onChange={(typed) => {
            setText(typed)
            if (apply.error || apply.done) apply.reset()
          }}
        />
        <Row>
          <Button
            variant="main"
            busy={apply.busy}
            disabled={!isChanged || checked?.valid !== true}
            onClick={() => apply.run(text)}
          >
            {stored === undefined ? 'Create agent' : 'Apply'}
          </Button>
          {stored !== undefined && isChanged && (
            <Button variant="quiet" onClick={() => setText(stored)}>
              Discard changes
            </Button>
          )}
          <span role="status" className="text-sm text-soft">
            {apply.done && !isChanged ? 'Applied. The next turn uses it.' : statusOf(checked)}
          </span>
        </Row>
        {apply.error && !refused && <ErrorNotice error={apply.error} />}
        {problems.length > 0 && <Problems problems={problems} onOpen={(problem) => goTo(area.current, problem)} />}
        {stored !== undefined && isChanged && (
          <Panel title="Changes">
            <Diff before={stored} after={text} />
          </Panel>
        )}
      </div>
      <div className="min-w-0 space-y-4">
        {routines.map((routine) => (
          <Panel key={routine.id} title={routine.title}>
            <RoutineGraph routine={routine} position={undefined} />
          </Panel>
        ))}
      </div>
    </div>
  )
}

const pauseMs = 300

/** Checks the text in pauses of typing. The last check stays until the next one is there. */
function useCheck(text: string) {
  const [manifest, setManifest] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setManifest(text), pauseMs)
    return () => clearTimeout(timer)
  }, [text])
  const { data } = useQuery({
    queryKey: ['manifest-check', manifest],
    queryFn: () => ask(qm.manifests.checkManifest({ body: { manifest } })),
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  return manifest === text ? data : data && { ...data, valid: false }
}

type Checked = ReturnType<typeof useCheck>

const statusOf = (checked: Checked): string => {
  if (!checked) return 'Checking…'
  if (checked.errors.length > 0) return plural(checked.errors.length, 'problem')
  return checked.valid ? 'No problems' : 'Checking…'
}

/** The routines of the last text without problems, so that they stay while you type. */
function useRoutines(checked: Checked): readonly Routine[] {
  const [routines, setRoutines] = useState<readonly Routine[]>([])
  const guide = checked?.guide as { routines: Routine[] } | null | undefined
  useEffect(() => {
    if (guide) setRoutines(guide.routines)
  }, [guide])
  return routines
}

const Problems = ({ problems, onOpen }: { problems: readonly Problem[]; onOpen: (problem: Problem) => void }) => (
  <Panel title="Problems" flush>
    <ul className="divide-y divide-line text-sm">
      {problems.map((problem) => (
        <li key={`${problem.line} ${problem.column} ${problem.message}`}>
          <button
            type="button"
            onClick={() => onOpen(problem)}
            className="block w-full px-4 py-2 text-left break-words hover:bg-hover"
          >
            <span className="mr-2 font-mono text-xs text-bad tabular-nums">
              {problem.line}:{problem.column}
            </span>
            {problem.path !== '' && <code className="mr-1 font-mono text-xs break-all">{problem.path}</code>}{' '}
            {problem.message}
          </button>
        </li>
      ))}
    </ul>
  </Panel>
)
