import { useState } from 'react'
import { Badge } from '../../../ui/badge.tsx'
import { Button, buttonClass } from '../../../ui/button.tsx'
import { TextArea } from '../../../ui/field.tsx'
import { Icon } from '../../../ui/icon.tsx'
import { ErrorNotice } from '../../../ui/notice.tsx'
import { useAction } from '../../../use-action.ts'
import type { Result } from '../records.ts'
import { useNow } from '../use-now.ts'
import { Arguments } from './arguments.tsx'
import type { Output } from './conversation.ts'
import type { Turn } from './turns.ts'

type Required = NonNullable<Result['required_action']>
type Pending = Required['tool_calls'][number]
type Approval = NonNullable<Required['approvals']>[number]

const kinds = [
  ['text', 'Text'],
  ['json', 'JSON'],
  ['error', 'Error'],
] as const
type Kind = (typeof kinds)[number][0]
interface Answer {
  readonly kind: Kind
  readonly text: string
}
const blank: Answer = { kind: 'text', text: '' }

/** Validates an answer before it is sent. */
function faultOf({ kind, text }: Answer): string | undefined {
  if (kind === 'error' && text.trim() === '') return 'Enter an error message. It is sent to the model.'
  if (kind !== 'json') return undefined
  try {
    JSON.parse(text)
    return undefined
  } catch (reason) {
    return `Invalid JSON: ${(reason as Error).message}`
  }
}

/** Asks for the outputs of client tools. In the chat, the user enters them in place of an application. */
export function OutputsForm({
  calls,
  onSubmit,
}: {
  calls: readonly Pending[]
  onSubmit: (outputs: readonly Output[]) => Promise<void>
}) {
  const [answers, setAnswers] = useState<Readonly<Record<string, Answer>>>({})
  const [isTried, setTried] = useState(false)
  const of = (id: string) => answers[id] ?? blank
  const submit = useAction(() =>
    onSubmit(
      calls.map(({ tool_call_id }) => {
        const { kind, text } = of(tool_call_id)
        return { tool_call_id, output: kind === 'json' ? JSON.parse(text) : text, is_error: kind === 'error' }
      }),
    ),
  )
  return (
    <form
      aria-label="Tool outputs"
      className="space-y-4 rounded-md border border-warn/50 bg-panel p-3"
      onSubmit={(event) => {
        event.preventDefault()
        setTried(true)
        if (calls.every(({ tool_call_id }) => faultOf(of(tool_call_id)) === undefined)) submit.run()
      }}
    >
      <p className="text-sm">
        <Badge tone="warn">waiting for you</Badge>{' '}
        <span className="ml-1">
          The agent called{' '}
          {calls.length === 1
            ? 'a client tool. Enter its output.'
            : `${calls.length} client tools. Enter their outputs.`}
        </span>
      </p>
      {calls.map((call, index) => {
        const answer = of(call.tool_call_id)
        const set = (change: Partial<Answer>) =>
          setAnswers((now) => ({ ...now, [call.tool_call_id]: { ...(now[call.tool_call_id] ?? blank), ...change } }))
        return (
          <div key={call.tool_call_id} className="space-y-2">
            <Arguments value={call.args} />
            <TextArea
              label={
                <>
                  Output of <code className="font-mono">{call.tool_name}</code>
                </>
              }
              rows={3}
              mono={answer.kind === 'json'}
              // The run is waiting for this input.
              autoFocus={index === 0}
              value={answer.text}
              placeholder={answer.kind === 'json' ? '{ "answer": 42 }' : ''}
              onChange={(event) => set({ text: event.target.value })}
              error={isTried || answer.text !== '' ? faultOf(answer) : undefined}
            />
            <fieldset className="flex flex-wrap gap-4 text-sm">
              <legend className="sr-only">Type of the output of {call.tool_name}</legend>
              {kinds.map(([kind, label]) => (
                <label key={kind} className="flex cursor-pointer items-center gap-1.5">
                  <input
                    type="radio"
                    className="accent-accent"
                    name={`kind-${call.tool_call_id}`}
                    checked={answer.kind === kind}
                    onChange={() => set({ kind })}
                  />
                  {label}
                </label>
              ))}
            </fieldset>
          </div>
        )
      })}
      <ErrorNotice error={submit.error} />
      <Button variant="main" type="submit" busy={submit.busy}>
        {calls.length === 1 ? 'Submit output' : 'Submit outputs'}
      </Button>
    </form>
  )
}

/** An approval that someone else must decide. The conversation then continues. */
export function ApprovalCard({ approval, turn }: { approval: Approval; turn: Turn }) {
  const now = useNow(true)
  const left = Math.max(0, Math.round((Date.parse(approval.expires_at) - now) / 1000))
  const call = turn.steps.flatMap(({ calls }) => calls).find(({ id }) => id === approval.tool_call_id)
  return (
    <section
      aria-label={`Approval for ${approval.tool_name}`}
      className="space-y-2 rounded-md border border-warn/50 bg-panel p-3 text-sm"
    >
      <p className="flex flex-wrap items-center gap-2">
        <Icon name="approvals" className="size-4 text-warn" />
        <span className="font-medium">
          <code className="font-mono">{approval.tool_name}</code> needs approval
        </span>
        <span className="ml-auto text-soft tabular-nums" role="timer">
          {left > 0 ? `${clock(left)} left` : 'expired'}
        </span>
      </p>
      {call?.args !== undefined && <Arguments value={call.args} />}
      <p className="flex flex-wrap items-center justify-between gap-2">
        <span className="text-soft">Someone else must approve this call. The agent then continues automatically.</span>
        <a
          href={`/approvals/${approval.approval_id}`}
          target="_blank"
          rel="noreferrer"
          className={buttonClass('plain')}
        >
          Open approval
        </a>
      </p>
    </section>
  )
}

function clock(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const rest = String(seconds % 60).padStart(2, '0')
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`
}
