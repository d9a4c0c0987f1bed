/**
 * Loaded into a process before its own code. Measures how late a timer of 5 ms fires: in wall time, and in CPU time of the
 * main thread, which does not depend on the load of the machine. A message starts a new measurement and answers with the last one.
 */
const interval = 5

/** Milliseconds. */
export interface Delays {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export interface LoopDelays {
  readonly wall: Delays
  readonly cpu: Delays
}

const wall: number[] = []
const cpu: number[] = []
let last = now()

function now() {
  const { user, system } = process.threadCpuUsage()
  return { wall: performance.now(), cpu: (user + system) / 1000 }
}

function summary(delays: number[]): Delays {
  delays.sort((a, b) => a - b)
  const at = (share: number) => delays[Math.min(delays.length - 1, Math.floor(delays.length * share))] ?? 0
  return { p50: at(0.5), p99: at(0.99), max: at(1) }
}

setInterval(() => {
  const current = now()
  wall.push(Math.max(0, current.wall - last.wall - interval))
  cpu.push(Math.max(0, current.cpu - last.cpu - interval))
  last = current
}, interval)

process.on('message', () => {
  process.send?.({ wall: summary(wall), cpu: summary(cpu) } satisfies LoopDelays)
  wall.length = 0
  cpu.length = 0
})
process.channel?.unref()
