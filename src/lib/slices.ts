import { setImmediate } from 'node:timers/promises'

/** Milliseconds to run before yielding. Long enough to make progress, short enough not to delay other requests. */
const slice = 5
/** Items per batch. */
const few = 16

/** Yields the items in batches and lets the event loop run whenever a time slice is used up. */
export async function* inSlices<T>(things: Iterable<T>): AsyncGenerator<T[]> {
  let until = performance.now() + slice
  let some: T[] = []
  for (const thing of things) {
    some.push(thing)
    if (some.length < few) continue
    yield some
    some = []
    if (performance.now() < until) continue
    await setImmediate()
    until = performance.now() + slice
  }
  yield some
}
