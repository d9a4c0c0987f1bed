/** Reads a source to its end while its consumer is busy. The caller limits how much that is. */
export async function* readAhead<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  const queue: T[] = []
  let wake = Promise.withResolvers<void>()
  let end: { readonly error?: unknown } | undefined
  const read = async () => {
    try {
      for await (const one of source) {
        queue.push(one)
        wake.resolve()
      }
      end = {}
    } catch (error) {
      end = { error }
    }
    wake.resolve()
  }
  void read()
  for (;;) {
    while (queue.length > 0) yield queue.shift() as T
    if (end && 'error' in end) throw end.error
    if (end) return
    await wake.promise
    wake = Promise.withResolvers()
  }
}
