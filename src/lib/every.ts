/** Does something again and again, never twice at a time. To close it waits for what is under way. */
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
