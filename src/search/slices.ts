import { setImmediate } from 'node:timers/promises'

/** Long enough to get on, short enough that nobody notices. */
const slice = 5
/** How many are handed out at once. */
const few = 16

/** The same things one after the other, letting others run whenever a slice of time is used up. */
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
