/**
 * Loaded into the platform before its own code. Measures the longest time in which the event loop did nothing else: on the
 * clock, and of that the time the main thread really computed, which does not grow when other programs use the machine.
 */
const interval = 5

let longest = { wall: 0, cpu: 0 }
let last = now()

function now() {
  const { user, system } = process.threadCpuUsage()
  return { wall: performance.now(), cpu: (user + system) / 1000 }
}

setInterval(() => {
  const current = now()
  const pause = { wall: current.wall - last.wall - interval, cpu: current.cpu - last.cpu }
  if (pause.wall > longest.wall) longest.wall = pause.wall
  if (pause.cpu > longest.cpu) longest.cpu = pause.cpu
  last = current
}, interval).unref()

process.on('message', () => {
  process.send?.(longest)
  longest = { wall: 0, cpu: 0 }
})
process.channel?.unref()
