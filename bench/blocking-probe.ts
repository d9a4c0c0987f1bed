/**
 * Loaded into the platform before its own code. Measures the longest time that the event loop was blocked, in wall time and
 * in CPU time of the main thread. CPU time does not depend on the load of the machine.
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
