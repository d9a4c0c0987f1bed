import type { Operations } from '../../sdk/index.ts'
import { exit } from '../toolkit/command.ts'
import { got, type Session } from '../toolkit/connection.ts'
import { ago } from '../toolkit/print.ts'
import { columnsOf, cut, harmless, oneLine, pad, paint, widthOf } from '../toolkit/terminal.ts'
import { type Approval, verdict } from '../toolkit/verdict.ts'

type Whole = Operations['approvals']['getApproval']['answer']

/**
 * The screen shows the list; enter shows one approval whole, r asks for a reason to reject it. Escape goes back to the
 * list, and q, or the end of input, leaves.
 */
interface State {
  waiting: Approval[]
  /** By its id: the list changes while someone reads it, and a key must never hit another one than was meant. */
  selected: string | undefined
  /** What each would do, in a line, by the hash of its arguments: a reviewer may change them. */
  inputs: Map<string, string>
  whole: Whole | undefined
  /** What is typed as a reason, while one is asked for. */
  reason: string | undefined
  message: string
}

const enterScreen = '\x1b[?1049h\x1b[?25l'
const leaveScreen = '\x1b[?25h\x1b[?1049l'

export async function watchApprovals(session: Session): Promise<number> {
  const { qm } = session
  const { stdin, stdout } = process
  const state: State = {
    waiting: [],
    selected: undefined,
    inputs: new Map(),
    whole: undefined,
    reason: undefined,
    message: '',
  }
  await refresh(state, await pending(session), qm)
  const draw = () =>
    stdout.write(
      `\x1b[H${linesOf(state, stdout)
        .map((line) => `${line}\x1b[K`)
        .join('\r\n')}\x1b[J`,
    )
  const ended = new AbortController()
  const listening = listen(session, state, draw, ended.signal)
  const clock = setInterval(draw, 1000)
  stdin.setRawMode(true).setEncoding('utf8')
  stdout.write(enterScreen)
  try {
    draw()
    for await (const typed of stdin.iterator({ destroyOnReturn: false })) {
      for (const key of keysOf(typed as string)) {
        if (key === '\x03' || key === '\x04' || (key === 'q' && state.reason === undefined)) return exit.ok
        await press(key, state, qm).catch((error: Error) => {
          state.message = oneLine(error.message)
        })
        draw()
      }
    }
    return exit.ok
  } finally {
    clearInterval(clock)
    ended.abort()
    stdin.setRawMode(false).pause()
    stdout.write(leaveScreen)
    await listening
  }
}

const pending = async ({ qm }: Session): Promise<Approval[]> =>
  [...got(await qm.approvals.listApprovals({ query: { status: 'pending', limit: 200 } })).data].reverse()

/** Keeps the list as it is on the platform, also after the connection broke. */
async function listen(session: Session, state: State, draw: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const events = got(await session.qm.approvals.streamApprovals({ signal }))
      await refresh(state, await pending(session), session.qm)
      draw()
      for await (const { data } of events) {
        const one = data as Approval
        const others = state.waiting.filter(({ id }) => id !== one.id)
        await refresh(state, one.status === 'pending' ? sorted([...others, one]) : others, session.qm)
        draw()
      }
    } catch (error) {
      if (signal.aborted) return
      state.message = `Not connected: ${oneLine((error as Error).message)}`
      draw()
    }
    await new Promise((resolve) => setTimeout(resolve, signal.aborted ? 0 : 1000))
  }
}

const mostInputs = 50

/** Takes the list as it is now. The first of an empty list is chosen; where the chosen one has gone, nobody is. */
async function refresh(state: State, waiting: Approval[], qm: Session['qm']): Promise<void> {
  const wasEmpty = state.waiting.length === 0
  state.waiting = waiting
  if (wasEmpty) state.selected = waiting[0]?.id
  else if (!waiting.some(({ id }) => id === state.selected)) state.selected = undefined
  if (state.whole && !waiting.some(({ id }) => id === state.whole?.id)) {
    state.whole = undefined
    state.reason = undefined
    state.message = 'It was decided elsewhere.'
  }
  const unknown = waiting.filter(({ args_hash }) => !state.inputs.has(args_hash)).slice(0, mostInputs)
  await Promise.all(
    unknown.map(async ({ id }) => {
      const { data } = await qm.approvals.getApproval({ path: { approval_id: id } })
      if (data) state.inputs.set(data.args_hash, oneLine(JSON.stringify(data.edited_input ?? data.input)).slice(0, 500))
    }),
  )
}

const sorted = (list: Approval[]) => list.sort((a, b) => a.created_at.localeCompare(b.created_at))

/** Arrow keys come as several characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape key is one
const keysOf = (typed: string): string[] => typed.match(/\x1b\[[A-D]|[\s\S]/gu) ?? []

async function press(key: string, state: State, qm: Session['qm']): Promise<void> {
  const at = state.waiting.findIndex(({ id }) => id === state.selected)
  const one = state.whole ?? state.waiting[at]
  if (state.reason !== undefined) return typeReason(key, state, one, qm)
  state.message = ''
  const move = (to: number) => {
    state.selected = state.waiting[Math.max(0, Math.min(to, state.waiting.length - 1))]?.id
  }
  if (key === '\x1b[A' || key === 'k') move(at - 1)
  if (key === '\x1b[B' || key === 'j') move(at + 1)
  if (key === '\x1b' || key === '\x7f') state.whole = undefined
  if (!one) return
  if (key === '\r')
    state.whole = state.whole ? undefined : got(await qm.approvals.getApproval({ path: { approval_id: one.id } }))
  if (key === 'r') state.reason = ''
  // What is approved is what was shown: the platform refuses if the arguments were changed since.
  if (key === 'a') {
    const body = { args_hash: one.args_hash }
    settle(state, got(await qm.approvals.approveCall({ path: { approval_id: one.id }, body })))
  }
}

async function typeReason(key: string, state: State, one: Approval | undefined, qm: Session['qm']): Promise<void> {
  const reason = state.reason ?? ''
  if (key === '\x1b') state.reason = undefined
  else if (key === '\x7f') state.reason = reason.slice(0, -1)
  else if (key !== '\r') state.reason = key >= ' ' ? reason + key : reason
  else {
    state.reason = undefined
    if (!one) {
      state.message = 'It was decided elsewhere.'
      return
    }
    const body = reason.trim() === '' ? {} : { reason: reason.trim() }
    settle(state, got(await qm.approvals.rejectCall({ path: { approval_id: one.id }, body })))
  }
}

/** The next one is chosen after a decision of one's own. */
function settle(state: State, decided: Approval): void {
  state.message = verdict(decided)
  state.whole = undefined
  if (decided.status === 'pending') return
  const at = state.waiting.findIndex(({ id }) => id === decided.id)
  state.waiting = state.waiting.filter(({ id }) => id !== decided.id)
  state.selected = state.waiting[Math.max(0, Math.min(at, state.waiting.length - 1))]?.id
}

function linesOf(state: State, stdout: NodeJS.WriteStream): string[] {
  const width = columnsOf(stdout)
  const height = Math.max(8, stdout.rows || 24)
  const { reason, message, whole, waiting } = state
  const head = paint('bold', `Approvals: ${waiting.length === 0 ? 'nothing waits' : `${waiting.length} waiting`}`)
  const body = whole ? wholeLines(whole, width) : listLines(state, width, height - 5)
  const keys = whole
    ? 'a approve   r reject   esc back   q quit'
    : '↑↓ choose   a approve   r reject   enter details   q quit'
  const foot =
    reason === undefined ? paint('dim', keys) : `Reason to reject (enter sends, esc goes back): ${oneLine(reason)}▏`
  const cutBody = body.length > height - 5 ? [...body.slice(0, height - 6), paint('dim', '…')] : body
  return [head, '', ...cutBody, '', message.includes('\x1b') ? message : cut(message, width), foot]
}

function listLines({ waiting, selected, inputs }: State, width: number, height: number): string[] {
  const chosen = waiting.findIndex(({ id }) => id === selected)
  const start = Math.max(0, Math.min(chosen - height + 1, waiting.length - height))
  return waiting.slice(start, start + height).map((one) => {
    const isSelected = one.id === selected
    const left = `${isSelected ? '❯' : ' '} ${oneLine(one.action)} ${inputs.get(one.args_hash) ?? ''}`
    const right = `${cut(oneLine(one.principal.name), 16)}, ${ago(one.expires_at)}`
    const text = pad(cut(left, width - widthOf(right) - 2), width - widthOf(right) - 1) + right
    return isSelected ? paint('cyan', text) : text
  })
}

function wholeLines(one: Whole, width: number): string[] {
  const why = one.why.map(({ gate, name, reason }) => oneLine([gate, name, reason].filter(Boolean).join(' ')))
  const input = harmless(JSON.stringify(one.edited_input ?? one.input, null, 2)).split('\n')
  return [
    `Action    ${oneLine(one.action)}`,
    `Asked by  ${oneLine(one.principal.name)} by ${one.surface}, ${ago(one.created_at)}`,
    `Because   ${why.join('; ')}`,
    `Expires   ${ago(one.expires_at)}`,
    ...(one.preset_keys.length > 0 ? [`Fixed     ${one.preset_keys.map(oneLine).join(', ')} (not shown)`] : []),
    ...one.sensitive.map((each) => `Caution   ${oneLine(each.path)} ${cautionOf(each)}`),
    `Id        ${one.id}`,
    '',
    ...input,
  ].map((line) => cut(line, width))
}

/** Nobody approves unseen what they were not told of. */
const cautionOf = ({ type, length, hidden }: Whole['sensitive'][number]): string => {
  const size = length === null ? type : `${type}, length ${length}`
  return hidden ? `is hidden (${size}) and runs as it was sent` : `looks like a credential (${size})`
}
