/** Runs work at an interval, never two runs at a time. `close` waits for the current run. */
export function every(
  milliseconds: number,
  work: () => Promise<void>,
  onFault: (error: unknown) => void,
): { close(): Promise<void> } {
  let working: Promise<void> | undefined
  const timer = setInterval(() => {
    working ??= work()
      .catch(onFault)
      .finally(() => {
        working = undefined
      })
  }, milliseconds)
  timer.unref()
  return {
    async close() {
      clearInterval(timer)
      await working
    },
  }
}
