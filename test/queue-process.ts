import { openQueue } from '../src/store/open-queue.ts'
import { openStore } from '../src/store/store.ts'

/** A process that looks at `sleepers` and never comes to an end with it. It says what it does; its parent kills it. */
const store = await openStore(JSON.parse(process.argv[2] as string))
const queue = await openQueue(store, { onError: (error) => console.log('error', error) })
await queue.work('sleepers', {
  atOnce: 10,
  async look(id) {
    console.log(`looking at ${id}`)
    await new Promise(() => {})
  },
})
setInterval(() => {}, 1000)
console.log('ready')
