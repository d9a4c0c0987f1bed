import type { GenerationEvent } from 'quartermaster/sdk'
import type { Message } from '../../../api.ts'
import type { Result, StepCall } from '../records.ts'
import type { Usage } from '../usage.ts'

export type { Message } from '../../../api.ts'

type UserContent = Extract<Message, { role: 'system' | 'user' }>['content']

/** A tool call. While the model is still writing the request, only its id and name are known. */
export interface Call {
  readonly id: string
  readonly callId: string | null
  readonly name: string
  readonly args: unknown
  readonly status: StepCall['status'] | 'asked'
  readonly output: unknown
  readonly approvalId: string | null
  readonly generationId: string | null
  readonly startedAt: string | null
  readonly completedAt: string | null
}

export interface Step {
  readonly number: number
  readonly text: string
  readonly reasoning: string
  readonly isAnswered: boolean
  readonly calls: readonly Call[]
  readonly usage: Usage | null
}

export interface Problem {
  readonly code: string
  readonly message: string
  readonly details: Record<string, unknown>
}

/** A user message and the agent’s work on it: one run, or part of the history of a run. */
export interface Turn {
  readonly key: string
  readonly content: UserContent
  readonly generationId: string | null
  /** `starting` until the platform accepts or refuses the message. */
  readonly status: 'starting' | 'refused' | 'past' | Result['status']
  readonly steps: readonly Step[]
  readonly required: Result['required_action'] | undefined
  readonly problem: Problem | undefined
  readonly stopReason: Result['stop_reason']
  readonly usage: Usage | null
  readonly traceId: string | null
}

let turnCount = 0

export const newTurn = (content: UserContent, fields: Partial<Turn> = {}): Turn => ({
  key: `turn-${++turnCount}`,
  content,
  generationId: null,
  status: 'starting',
  steps: [],
  required: undefined,
  problem: undefined,
  stopReason: null,
  usage: null,
  traceId: null,
  ...fields,
})

export const isOver = ({ status }: Turn): boolean =>
  status !== 'starting' && status !== 'in_progress' && status !== 'requires_action'

const newStep = (number: number): Step => ({
  number,
  text: '',
  reasoning: '',
  isAnswered: false,
  calls: [],
  usage: null,
})

const callOf = (call: StepCall): Call => ({
  id: call.tool_call_id,
  callId: call.call_id,
  name: call.tool_name,
  args: call.args,
  status: call.status,
  output: call.output,
  approvalId: call.approval_id,
  generationId: call.generation_id,
  startedAt: call.started_at,
  completedAt: call.completed_at,
})

/** Updates one step, and adds it if it is new. */
function withStep(turn: Turn, number: number, change: (step: Step) => Step): Turn {
  const index = turn.steps.findIndex((step) => step.number === number)
  if (index < 0) return { ...turn, steps: [...turn.steps, change(newStep(number))] }
  const before = turn.steps[index] as Step
  const after = change(before)
  return after === before ? turn : { ...turn, steps: turn.steps.with(index, after) }
}

/**
 * The turn after an event. A new stream repeats all events from the beginning, so known events change nothing: completed
 * steps stay, and incomplete ones are rebuilt.
 */
export function applyEvent(turn: Turn, event: GenerationEvent): Turn {
  switch (event.type) {
    case 'generation.started': {
      // A run that waited may still be waiting. Keep its form while the user fills it in.
      const status = turn.status === 'requires_action' ? turn.status : 'in_progress'
      return { ...turn, generationId: event.generation_id, status }
    }
    case 'step.started':
    case 'step.reset': {
      const isNew = !turn.steps.some(({ number }) => number === event.step)
      const now = isNew ? goesOn(turn) : turn
      return withStep(now, event.step, (step) => (step.isAnswered ? step : newStep(step.number)))
    }
    case 'text.delta':
      return withStep(turn, event.step, (step) => (step.isAnswered ? step : { ...step, text: step.text + event.text }))
    case 'reasoning.delta':
      return withStep(turn, event.step, (step) =>
        step.isAnswered ? step : { ...step, reasoning: step.reasoning + event.text },
      )
    case 'tool_call.started':
      return withStep(turn, event.step, (step) =>
        step.isAnswered
          ? step
          : { ...step, calls: [...step.calls, requestedCall(event.tool_call_id, event.tool_name)] },
      )
    case 'step.answered':
      return withStep(turn, event.step, (step) => ({
        number: step.number,
        text: event.text ?? '',
        reasoning: event.reasoning ?? '',
        isAnswered: true,
        calls: (event.calls as StepCall[]).map(callOf),
        usage: event.usage,
      }))
    case 'call.waiting':
    case 'call.ended':
      return withStep(without(turn, event as StepCall), event.step, (step) => {
        const call = callOf(event as StepCall)
        const index = step.calls.findIndex(({ callId, id }) => callId === call.callId || (!callId && id === call.id))
        return { ...step, calls: index < 0 ? [...step.calls, call] : step.calls.with(index, call) }
      })
    default:
      return settled(turn, event.result as Result)
  }
}

export const goesOn = (turn: Turn): Turn => ({ ...turn, status: 'in_progress', required: undefined })

/** Removes a completed call from those the run is waiting for. */
function without(turn: Turn, call: StepCall): Turn {
  if (!turn.required || (call.status !== 'done' && call.status !== 'failed')) return turn
  const isOther = ({ tool_call_id }: { tool_call_id: string }) => tool_call_id !== call.tool_call_id
  const tool_calls = turn.required.tool_calls.filter(isOther)
  const approvals = (turn.required.approvals ?? []).filter(isOther)
  if (tool_calls.length + approvals.length === 0) return goesOn(turn)
  return { ...turn, required: { ...turn.required, tool_calls, approvals } }
}

export const settled = (turn: Turn, result: Result): Turn => ({
  ...turn,
  generationId: result.id,
  traceId: result.trace_id,
  status: result.status,
  required: result.required_action,
  problem: result.error as Problem | undefined,
  stopReason: result.stop_reason,
  usage: result.usage,
})

const requestedCall = (id: string, name: string): Call => ({
  id,
  callId: null,
  name,
  args: undefined,
  status: 'asked',
  output: null,
  approvalId: null,
  generationId: null,
  startedAt: null,
  completedAt: null,
})

const unfinished = 'The run was stopped before this call completed.'
const isEnded = ({ status }: Call) => status === 'done' || status === 'failed'

/** The messages of a turn that are sent with the next one. */
export const messagesOf = ({ content, steps }: Turn): Message[] => [
  { role: 'user', content },
  ...steps.flatMap(({ text, calls }): Message[] => {
    const complete = calls.filter(({ status }) => status !== 'asked')
    if (text === '' && complete.length === 0) return []
    return [
      {
        role: 'assistant',
        content: text === '' ? null : text,
        ...(complete.length > 0 && {
          tool_calls: complete.map(({ id, name, args }) => ({ id, name, args: argsOf(args) })),
        }),
      },
      // Providers require an output for every call.
      ...complete.map(
        (call): Message => ({
          role: 'tool',
          tool_call_id: call.id,
          tool_name: call.name,
          output: isEnded(call) ? call.output : unfinished,
          is_error: call.status !== 'done',
        }),
      ),
    ]
  }),
]

const argsOf = (args: unknown): string => (typeof args === 'string' ? args : JSON.stringify(args ?? {}))

type SentMessage = {
  role: string
  content?: unknown
  tool_calls?: { id: string; name: string; args: string }[]
  tool_call_id?: string
  output?: unknown
  is_error?: boolean
}

/** The turns in the history of a run, and its own turn as the last. */
export function turnsOf(input: readonly unknown[]): { preface: Message[]; turns: Turn[] } {
  const preface: Message[] = []
  const turns: Turn[] = []
  for (const message of input as SentMessage[]) {
    if (message.role === 'system') preface.push({ role: 'system', content: String(message.content ?? '') })
    else if (message.role === 'user') turns.push(newTurn(sendable(message.content), { status: 'past' }))
    else turns.splice(-1, 1, withMessage(turns.at(-1) ?? newTurn('', { status: 'past' }), message))
  }
  return { preface, turns }
}

function withMessage(turn: Turn, message: SentMessage): Turn {
  if (message.role === 'assistant') {
    const step: Step = {
      ...newStep(turn.steps.length + 1),
      text: String(message.content ?? ''),
      isAnswered: true,
      calls: (message.tool_calls ?? []).map(({ id, name, args }) => ({
        ...requestedCall(id, name),
        args: readJson(args),
        status: 'running',
      })),
    }
    return { ...turn, steps: [...turn.steps, step] }
  }
  const steps = turn.steps.map((step) => ({
    ...step,
    calls: step.calls.map((call) =>
      call.id === message.tool_call_id && !isEnded(call)
        ? { ...call, output: message.output, status: message.is_error ? ('failed' as const) : ('done' as const) }
        : call,
    ),
  }))
  return { ...turn, steps }
}

const readJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Converts stored content to the format that can be sent again. Images by URL are stored differently. */
function sendable(content: unknown): UserContent {
  if (!Array.isArray(content)) return String(content ?? '')
  return content.map((part) => (part.type === 'image' && part.url ? { type: 'image_url', url: part.url } : part))
}

/** The readable text of a message. */
export function textOf(content: UserContent): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return `(${content.type})`
  return content.map((part) => (part.type === 'text' ? part.text : '(an image)')).join('\n')
}
