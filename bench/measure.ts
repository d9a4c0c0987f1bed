import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Pool } from 'undici'

/** Something that can be called, and the process whose time it takes. */
export interface Contestant {
  readonly name: string
  readonly url: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly pid: number
}

export interface Figures {
  readonly callsPerSecond: number
  readonly p50: number
  readonly p99: number
  /** Microseconds of processor time that the process spent on a call. */
  readonly cpu: number
}

/** Starts a program that prints `ready at <url>`. */
export async function launch(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
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

/** So many callers, each with one call at a time, for so long. */
export async function measure(contestant: Contestant, callers: number, milliseconds: number): Promise<Figures> {
  const pool = new Pool(contestant.url, { connections: callers })
  const { path, headers, body } = contestant
  const times: number[] = []
  const cpuBefore = cpuOf(contestant.pid)
  const began = performance.now()
  const until = began + milliseconds
  const callOnAndOn = async () => {
    while (performance.now() < until) {
      const start = performance.now()
      const response = await pool.request({ path, method: 'POST', headers, body })
      const text = await response.body.text()
      if (response.statusCode !== 200) throw new Error(`${contestant.name} answered ${response.statusCode}: ${text}`)
      times.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: callers }, callOnAndOn))
  const seconds = (performance.now() - began) / 1000
  const cpu = ((cpuOf(contestant.pid) - cpuBefore) * 1e6) / times.length
  await pool.close()
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  return { callsPerSecond: times.length / seconds, p50: at(0.5), p99: at(0.99), cpu }
}

/** Seconds of processor time a process has used, where the system tells. */
function cpuOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) / 100
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
})
