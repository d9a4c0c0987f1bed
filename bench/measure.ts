import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { isBuilt } from '../bin/is-built.js'
import { Callers } from './caller.ts'

/** A server to measure, and its process. */
export interface Contestant {
  readonly name: string
  readonly pid: number
  open(callers: number): Promise<Line> | Line
}

/** A connection pool to a contestant, for concurrent calls. */
export interface Line {
  call(): Promise<void>
  close(): void
}

export interface Posted {
  readonly name: string
  readonly url: string
  readonly path: string
  readonly headers: Record<string, string>
  /** The request body, or a function of the call's number if each call needs a different one. */
  readonly body: string | ((count: number) => string)
  /** The body of the first request on each connection. */
  readonly opening?: string
  readonly pid: number
}

/** A contestant that is called with POST requests. */
export function posted({ name, url, path, headers, body, opening, pid }: Posted): Contestant {
  return {
    name,
    pid,
    async open(callers) {
      const line = new Callers(callers, url, path, headers)
      if (opening !== undefined) await Promise.all(Array.from({ length: callers }, () => line.post(opening)))
      return {
        async call() {
          await line.post(typeof body === 'string' ? body : body(++count))
        },
        close: () => line.close(),
      }
    },
  }
}

export interface Figures {
  readonly callsPerSecond: number
  readonly p50: number
  readonly p99: number
  /** Microseconds of CPU time of the process per call. */
  readonly cpu: number
  /** Resident memory of the process in megabytes. */
  readonly rss: number
}

const command = new URL('../bin/quartermaster.js', import.meta.url).pathname

/** The built program, with the Node flags that the command sets for itself. */
export const program = ['--no-memory-reducer', '--max-semi-space-size=16', command]
if (!isBuilt()) await import('../scripts/build-program.ts')

/** Starts a program that prints `ready at <url>`, with a channel for messages if wanted. */
export async function launch(
  args: string[],
  env: Record<string, string> = {},
  channel: readonly 'ipc'[] = [],
): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, args, {
    // The shebang line of the command sets these variables, but it does not apply here.
    env: {
      PATH: process.env.PATH,
      ...(args.includes(command) && { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '262144' }),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit', ...channel],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout?.on('data', (chunk) => {
      output += chunk
      const ready = /ready at (http:\S+)/.exec(output)
      if (ready?.[1]) resolve(ready[1])
    })
    child.once('exit', (code) => reject(new Error(`${args.join(' ')} ended with ${code}: ${output}`)))
  })
  return { child, url }
}

let count = 0

/** Measures a number of concurrent callers, each with one call at a time, for a period. */
export async function measure(contestant: Contestant, callers: number, milliseconds: number): Promise<Figures> {
  const line = await contestant.open(callers)
  const times: number[] = []
  const cpuBefore = cpuOf(contestant.pid)
  const began = performance.now()
  const until = began + milliseconds
  const callRepeatedly = async () => {
    while (performance.now() < until) {
      const start = performance.now()
      await line.call()
      times.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: callers }, callRepeatedly))
  const seconds = (performance.now() - began) / 1000
  const cpu = ((cpuOf(contestant.pid) - cpuBefore) * 1e6) / times.length
  line.close()
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  return {
    callsPerSecond: times.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    cpu,
    rss: rssOf(contestant.pid),
  }
}

/** Makes the same number of calls to each contestant before it is measured, as for a server that runs for days. */
async function warmUp(contestant: Contestant): Promise<void> {
  const line = await contestant.open(64)
  let left = 20_000
  const until = performance.now() + 30_000
  const callRepeatedly = async () => {
    while (left-- > 0 && performance.now() < until) await line.call()
  }
  await Promise.all(Array.from({ length: 64 }, callRepeatedly))
  line.close()
}

export interface Race {
  readonly rounds: number
  readonly milliseconds: number
  readonly callers: readonly number[]
}

/**
 * Measures all contestants in turn in every round. Machines are noisy, so compare only ratios within one run. The table has
 * ratios to the contestants `direct` and `proxy`; higher is better.
 */
export async function race(contestants: readonly Contestant[], { rounds, milliseconds, callers }: Race): Promise<void> {
  for (const contestant of contestants) await warmUp(contestant)
  const width = Math.max(...contestants.map(({ name }) => name.length)) + 1
  const heads = ['calls/s', 'p50 ms', 'p99 ms', 'cpu µs/call', 'rss MB', 'of direct', 'of proxy', 'p50 of proxy']
  console.log(`callers ${' '.repeat(width)}${heads.map((head) => head.padStart(12)).join('')}`)
  for (const count of callers) {
    const taken = new Map<string, Figures[]>(contestants.map(({ name }) => [name, []]))
    for (let round = 0; round < rounds; round++) {
      for (const contestant of contestants)
        taken.get(contestant.name)?.push(await measure(contestant, count, milliseconds))
    }
    const [direct, proxy] = ['direct', 'proxy'].map((name) => medianOf(taken.get(name) ?? [])) as [Figures, Figures]
    for (const { name } of contestants) {
      const figures = medianOf(taken.get(name) ?? [])
      const columns = [
        figures.callsPerSecond.toFixed(0),
        figures.p50.toFixed(2),
        figures.p99.toFixed(2),
        figures.cpu.toFixed(0),
        figures.rss.toFixed(0),
        (figures.callsPerSecond / direct.callsPerSecond).toFixed(2),
        (figures.callsPerSecond / proxy.callsPerSecond).toFixed(2),
        (proxy.p50 / figures.p50).toFixed(2),
      ]
      console.log(
        `${String(count).padEnd(8)}${name.padEnd(width)}${columns.map((column) => column.padStart(12)).join('')}`,
      )
    }
  }
}

/** Stops a program that `launch` started. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = new Promise((resolve) => child.once('close', resolve))
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
  child.kill('SIGTERM')
  await closed
  clearTimeout(timer)
}

/** Seconds of CPU time that a process has used; NaN on systems without /proc. */
export function cpuOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return Number.NaN
  }
}

function rssOf(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  } catch {
    return Number.NaN
  }
}

export const median = (numbers: readonly number[]): number => {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export const medianOf = (figures: readonly Figures[]): Figures => ({
  callsPerSecond: median(figures.map((one) => one.callsPerSecond)),
  p50: median(figures.map((one) => one.p50)),
  p99: median(figures.map((one) => one.p99)),
  cpu: median(figures.map((one) => one.cpu)),
  rss: median(figures.map((one) => one.rss)),
})
