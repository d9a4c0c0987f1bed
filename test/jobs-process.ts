import { openJobs } from '../src/jobs/open-jobs.ts'
import { openStore } from '../src/store/store.ts'

/** A process whose jobs in the queue `endless` never end. It prints its progress, and its parent kills it. */
const store = await openStore(JSON.parse(process.argv[2] as string))
const jobs = await openJobs(store, { onError: (error) => console.log('error', error) })
const run = async (id: string) => {
  console.log(`running ${id}`)
  await new Promise(() => {})
}
await jobs.work('endless', run, { concurrency: 10 })
setInterval(() => {}, 1000)
console.log('ready')
