import { Link } from '@tanstack/react-router'
import { memo, type ReactNode, useState } from 'react'
import { plural } from '../../../format.ts'
import { Button, buttonClass } from '../../../ui/button.tsx'
import { TextView } from '../../../ui/text.tsx'
import { Said } from '../model-text.tsx'
import type { Agent } from '../records.ts'
import { money, sum, tokens, type Usage } from '../usage.ts'
import { CallCard } from './call-card.tsx'
import type { Output } from './conversation.ts'
import { ApprovalCard, OutputsForm } from './required-action.tsx'
import { isOver, type Step, type Turn, textOf } from './turns.ts'

interface Props {
  readonly turn: Turn
  readonly agent: Agent
  readonly isLast: boolean
  onSubmit(outputs: readonly Output[]): Promise<void>
  onAgain(): void
}

/** A message and the agent’s work on it, live. */
export const TurnView = memo(function TurnView({ turn, agent, isLast, onSubmit, onAgain }: Props) {
  const over = isOver(turn)
  const { tool_calls = [], approvals = [] } = turn.required ?? {}
  return (
    <article aria-label="Turn" className="space-y-3">
      <div className="ml-auto w-fit max-w-[85%] rounded-lg bg-accent-wash px-3 py-2">
        <UserText text={textOf(turn.content)} />
      </div>
      <div className="min-w-0 space-y-3">
        {turn.steps.map((step) => (
          <StepView key={step.number} step={step} isOver={over} />
        ))}
        {isLast && !over && <Waiting turn={turn} />}
        {isLast && approvals.map((one) => <ApprovalCard key={one.approval_id} approval={one} turn={turn} />)}
        {isLast && tool_calls.length > 0 && <OutputsForm calls={tool_calls} onSubmit={onSubmit} />}
        {turn.problem && <Failed turn={turn} agent={agent} />}
        {over && <Foot turn={turn} {...(isLast && { onAgain })} />}
      </div>
    </article>
  )
})

const UserText = ({ text }: { text: string }) =>
  text.length > 4000 ? <TextView text={text} /> : <p className="break-words whitespace-pre-wrap">{text}</p>

const StepView = memo(function StepView({ step, isOver }: { step: Step; isOver: boolean }) {
  return (
    <>
      {step.reasoning !== '' && <Reasoning text={step.reasoning} />}
      {step.text !== '' && <Said text={step.text} />}
      {step.calls.map((call) => (
        <CallCard key={call.callId ?? call.id} call={call} isOver={isOver} />
      ))}
    </>
  )
})

function Reasoning({ text }: { text: string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="text-sm text-soft" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="w-fit">Reasoning</summary>
      {isOpen && (
        <div className="mt-1 border-l-2 border-line pl-3">
          <Said text={text} />
        </div>
      )}
    </details>
  )
}

/** Shown while the agent works and has no text yet. */
function Waiting({ turn }: { turn: Turn }) {
  const step = turn.steps.at(-1)
  if (turn.status === 'requires_action' || (step && !step.isAnswered && step.text !== '')) return null
  const isCalling = step?.isAnswered && step.calls.some(({ status }) => status !== 'done' && status !== 'failed')
  return (
    <p className="flex items-center gap-2 text-sm text-soft">
      <span className="size-2 rounded-full bg-accent motion-safe:animate-pulse" />
      {turn.status === 'starting' ? 'Sending' : isCalling ? 'Waiting for tool calls' : 'Thinking'}…
    </p>
  )
}

function Failed({ turn, agent }: { turn: Turn; agent: Agent }) {
  const { code, message, details } = turn.problem ?? { code: '', message: '', details: {} }
  const faults = Array.isArray(details.errors) ? (details.errors as { path: string; message: string }[]) : []
  const isModel = code.startsWith('MODEL_') || code.startsWith('REPLAY_')
  return (
    <div role="alert" className="rounded-md border border-bad/40 bg-bad-wash px-3 py-2 text-sm">
      <p className="break-words">
        <span className="mr-2 font-mono text-xs font-semibold text-bad">{code}</span>
        {message}
      </p>
      {faults.length > 0 && (
        <ul className="mt-1 list-disc pl-5">
          {faults.map((fault) => (
            <li key={`${fault.path} ${fault.message}`} className="break-words">
              {fault.path !== '' && <code className="font-mono text-xs font-semibold">{fault.path}</code>}{' '}
              {fault.message}
            </li>
          ))}
        </ul>
      )}
      {isModel && (
        <Link
          to="/ai-providers/$providerId"
          params={{ providerId: agent.ai_provider_id }}
          className={`mt-2 ${buttonClass('plain')}`}
        >
          Open AI provider
        </Link>
      )}
    </div>
  )
}

const ends: Record<string, string> = {
  max_steps: 'Stopped: step limit reached.',
  stop_condition: 'Stopped by a stop condition.',
  depth_limit: 'Stopped: nesting limit for agents reached.',
  cancelled: 'You stopped this run. Completed tool calls are not undone.',
}

function Foot({ turn, onAgain }: { turn: Turn; onAgain?: () => void }) {
  const usage = usageOf(turn)
  const cost = usage && money(usage.cost)
  const facts: ReactNode[] = [
    ...(turn.status === 'past' || turn.steps.length === 0 ? [] : [plural(turn.steps.length, 'step')]),
    ...(usage && usage.input_tokens + usage.output_tokens > 0 ? [`tokens: ${tokens(usage)}`] : []),
    ...(cost ? [cost] : []),
  ]
  const canRepeat = onAgain && ['refused', 'failed', 'cancelled'].includes(turn.status)
  if (turn.status === 'past') return null
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-soft">
      {turn.stopReason && ends[turn.stopReason] && <span>{ends[turn.stopReason]}</span>}
      {facts.length > 0 && <span className="tabular-nums">{facts.join(' · ')}</span>}
      {turn.generationId && (
        <Link
          to="/generations/$generationId"
          params={{ generationId: turn.generationId }}
          className="text-accent hover:underline"
        >
          Timeline
        </Link>
      )}
      {canRepeat && (
        <Button variant="quiet" onClick={onAgain}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** The usage so far. */
export function usageOf({ usage, steps }: Turn): Usage | null {
  if (usage) return usage
  const usages = steps.flatMap((step) => (step.usage ? [step.usage] : []))
  return usages.length > 0 ? sum(usages) : null
}
