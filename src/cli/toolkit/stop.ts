/** Resolves with the reason when this process receives SIGTERM or SIGINT, or npm ends. */
export const untilStopped = (): Promise<string> =>
  new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve(name))
    if (process.env.npm_lifecycle_event) watchParent(() => resolve('the end of npm'))
  })

/** npm starts programs through a shell that does not forward signals. When it is gone, the parent process changes. */
function watchParent(onEnd: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onEnd()
  }, 200)
  timer.unref()
}
