import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Delays, LoopDelays } from './delay-probe.ts'
import { launch } from './measure.ts'

export const probe = ['--import', new URL('delay-probe.ts', import.meta.url).href]

/** Starts a program whose event loop is measured. */
export const launchProbed = (args: string[], env: Record<string, string>) => launch([...probe, ...args], env, ['ipc'])

/** A process that does nothing. Its delays are those of the machine. */
export const startIdle = (): ChildProcess =>
  fork(new URL('idle.ts', import.meta.url).pathname, { execArgv: probe, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })

/** The delays since the last call. */
export async function delaysOf(child: ChildProcess): Promise<LoopDelays> {
  const answer = once(child, 'message')
  child.send('read')
  return (await answer)[0] as LoopDelays
}

export const shown = ({ p50, p99, max }: Delays) =>
  `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${max.toFixed(1)}`
