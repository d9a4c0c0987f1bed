import { plural } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { CodeBox } from '../../ui/code.tsx'
import type { GuideDecision } from './records.ts'

/** What the guide decided for one step. */
export function Decision({ step, decision }: { step: number; decision: GuideDecision | null }) {
  if (!decision) return <p className="text-xs text-soft">Step {step}: no policies or routines.</p>
  const { matches, routines, guidance, actions, questions, faults, review, fetch } = decision
  return (
    <section aria-label={`Step ${step}`} className="rounded-md border border-line p-3">
      <h3 className="mb-1 text-xs font-semibold">
        Step {step}, {plural(questions, 'question')}
      </h3>
      <ul className="space-y-1 text-xs">
        {matches.map(({ id, applies, by, reason }) => (
          <li key={id} className="break-words">
            <Badge tone={applies ? 'good' : 'plain'}>{applies ? 'applies' : 'does not apply'}</Badge>{' '}
            <code className="font-mono">{id}</code>{' '}
            <span className="text-soft">
              ({by}){reason && `: ${reason}`}
            </span>
          </li>
        ))}
        {routines.map(({ routine_id, node_id, status }) => (
          <li key={routine_id} className="break-words">
            <Badge tone={status === 'active' ? 'accent' : 'plain'}>{status}</Badge>{' '}
            <code className="font-mono">
              {routine_id}/{node_id}
            </code>
          </li>
        ))}
        {fetch?.map(({ variable, tool_id }) => (
          <li key={variable} className="break-words text-soft">
            Fetches the variable <code className="font-mono">{variable}</code> with {tool_id}
          </li>
        ))}
        {actions !== null && actions.length > 0 && !fetch && <li className="text-soft">Tools: {actions.join(', ')}</li>}
        {review?.violations.map(({ id, reason }) => (
          <li key={id} className="break-words text-warn">
            The reply goes against {id}
            {reason && `: ${reason}`}
          </li>
        ))}
        {faults.map((fault) => (
          <li key={fault} className="break-words text-bad">
            {fault}
          </li>
        ))}
      </ul>
      {guidance && (
        <div className="mt-2">
          <CodeBox wrap>{guidance}</CodeBox>
        </div>
      )}
    </section>
  )
}
