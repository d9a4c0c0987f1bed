/** Resolves when this process is told to stop, with who or what said so. */
export const toldToStop = (): Promise<string> =>
  new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve(name))
    if (process.env.npm_lifecycle_event) watchParent(() => resolve('the end of npm'))
  })

/** Npm starts programs through a shell, which dies of a signal without passing it on. Nobody else is left to tell us. */
function watchParent(onEnd: () => void): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    onEnd()
  }, 200)
  timer.unref()
}
