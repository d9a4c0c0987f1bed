import type { Operations } from '../../sdk/index.ts'
import { exit } from '../toolkit/command.ts'
import { got, type Session } from '../toolkit/connection.ts'
import { io } from '../toolkit/io.ts'
import { ago } from '../toolkit/print.ts'
import { columnsOf, cut, harmless, oneLine, pad, paint, widthOf } from '../toolkit/terminal.ts'
import { type Approval, verdict } from '../toolkit/verdict.ts'

type Details = Operations['approvals']['getApproval']['answer']

/**
 * Starts with the list of pending approvals. Enter opens the details of one, and r opens the input for a reason to reject
 * it. Escape returns to the list. q or the end of the input quits.
 */
interface State {
  waiting: Approval[]
  /** An id rather than a position: the list changes while the user reads it, and a key must act on the approval they chose. */
  selected: string | undefined
  /** The arguments of each approval on one line, by their hash: a reviewer may edit the arguments. */
  inputs: Map<string, string>
  details: Details | undefined
  /** The reason typed so far, while the input is open. */
  reason: string | undefined
  message: string
}

const enterScreen = '\x1b[?1049h\x1b[?25l'
const leaveScreen = '\x1b[?25h\x1b[?1049l'

export async function watchApprovals(session: Session): Promise<number> {
  const { qm } = session
  const { stdin, stdout } = io()
  const state: State = {
    waiting: [],
    selected: undefined,
    inputs: new Map(),
    details: undefined,
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

/** Keeps the list up to date. Reconnects when the connection is lost. */
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

/** Replaces the list. If it was empty, selects the first entry. If the selected entry is gone, selects none. */
async function refresh(state: State, waiting: Approval[], qm: Session['qm']): Promise<void> {
  const wasEmpty = state.waiting.length === 0
  state.waiting = waiting
  if (wasEmpty) state.selected = waiting[0]?.id
  else if (!waiting.some(({ id }) => id === state.selected)) state.selected = undefined
  if (state.details && !waiting.some(({ id }) => id === state.details?.id)) {
    state.details = undefined
    state.reason = undefined
    state.message = 'This approval was decided elsewhere.'
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
// biome-ignore lint/suspicious/noControlCharactersInRegex: Escape is a control character
const keysOf = (typed: string): string[] => typed.match(/\x1b\[[A-D]|[\s\S]/gu) ?? []

async function press(key: string, state: State, qm: Session['qm']): Promise<void> {
  const at = state.waiting.findIndex(({ id }) => id === state.selected)
  const one = state.details ?? state.waiting[at]
  if (state.reason !== undefined) return typeReason(key, state, one, qm)
  state.message = ''
  const move = (to: number) => {
    state.selected = state.waiting[Math.max(0, Math.min(to, state.waiting.length - 1))]?.id
  }
  if (key === '\x1b[A' || key === 'k') move(at - 1)
  if (key === '\x1b[B' || key === 'j') move(at + 1)
  if (key === '\x1b' || key === '\x7f') state.details = undefined
  if (!one) return
  if (key === '\r')
    state.details = state.details ? undefined : got(await qm.approvals.getApproval({ path: { approval_id: one.id } }))
  if (key === 'r') state.reason = ''
  // Approves the arguments on the screen: the platform refuses if they were changed since.
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
      state.message = 'This approval was decided elsewhere.'
      return
    }
    const body = reason.trim() === '' ? {} : { reason: reason.trim() }
    settle(state, got(await qm.approvals.rejectCall({ path: { approval_id: one.id }, body })))
  }
}

/** Selects the next approval after the user's own decision. */
function settle(state: State, decided: Approval): void {
  state.message = verdict(decided)
  state.details = undefined
  if (decided.status === 'pending') return
  const at = state.waiting.findIndex(({ id }) => id === decided.id)
  state.waiting = state.waiting.filter(({ id }) => id !== decided.id)
  state.selected = state.waiting[Math.max(0, Math.min(at, state.waiting.length - 1))]?.id
}

function linesOf(state: State, stdout: NodeJS.WriteStream): string[] {
  const width = columnsOf(stdout)
  const height = Math.max(8, stdout.rows || 24)
  const { reason, message, details, waiting } = state
  const head = paint('bold', `Approvals: ${waiting.length} pending`)
  const body = details ? detailLines(details, width) : listLines(state, width, height - 5)
  const keys = details
    ? 'a approve   r reject   esc back   q quit'
    : '↑↓ select   a approve   r reject   enter details   q quit'
  const foot =
    reason === undefined
      ? paint('dim', keys)
      : `Reason for rejecting (Enter to send, Esc to go back): ${oneLine(reason)}▏`
  const cutBody = body.length > height - 5 ? [...body.slice(0, height - 6), paint('dim', '…')] : body
  return [head, '', ...cutBody, '', message.includes('\x1b') ? message : cut(message, width), foot]
}

function listLines({ waiting, selected, inputs }: State, width: number, height: number): string[] {
  const selectedAt = waiting.findIndex(({ id }) => id === selected)
  const start = Math.max(0, Math.min(selectedAt - height + 1, waiting.length - height))
  return waiting.slice(start, start + height).map((one) => {
    const isSelected = one.id === selected
    const left = `${isSelected ? '❯' : ' '} ${oneLine(one.action)} ${inputs.get(one.args_hash) ?? ''}`
    const right = `${cut(oneLine(one.principal.name), 16)}, ${ago(one.expires_at)}`
    const text = pad(cut(left, width - widthOf(right) - 2), width - widthOf(right) - 1) + right
    return isSelected ? paint('cyan', text) : text
  })
}

function detailLines(one: Details, width: number): string[] {
  const why = one.why.map(({ gate, name, reason }) => oneLine([gate, name, reason].filter(Boolean).join(' ')))
  const input = harmless(JSON.stringify(one.edited_input ?? one.input, null, 2)).split('\n')
  return [
    `Action    ${oneLine(one.action)}`,
    `Caller    ${oneLine(one.principal.name)} through ${one.surface}, ${ago(one.created_at)}`,
    `Reason    ${why.join('; ')}`,
    `Expires   ${ago(one.expires_at)}`,
    ...(one.preset_keys.length > 0 ? [`Preset    ${one.preset_keys.map(oneLine).join(', ')} (not shown)`] : []),
    ...one.sensitive.map((each) => `Caution   ${oneLine(each.path)} ${cautionOf(each)}`),
    `Id        ${one.id}`,
    '',
    ...input,
  ].map((line) => cut(line, width))
}

/** Warns about an argument that is hidden or looks like a credential, so that the reviewer knows about it. */
const cautionOf = ({ type, length, hidden }: Details['sensitive'][number]): string => {
  const size = length === null ? type : `${type}, length ${length}`
  return hidden ? `is hidden (${size}) and is sent unchanged` : `looks like a credential (${size})`
}
