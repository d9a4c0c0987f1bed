/** Imports one document as the platform does, and prints what that took as JSON. */
import { readFileSync } from 'node:fs'
import { Api } from '../../src/tools/openapi/api.ts'
import { ImportThread } from '../../src/tools/openapi/import-thread.ts'
import { openapi } from '../../src/tools/openapi/openapi.ts'
import { decodeSnapshot } from '../../src/tools/openapi/snapshot.ts'

const thread = new ImportThread()
const bytes = readFileSync(process.argv[2] ?? '')
const megabytes = bytes.length / 1e6
/** The longest time that this thread computed without a break. Unlike a delay, it does not depend on other processes. */
let burst = 0
let last = cpu()
const watch = setInterval(() => {
  const now = cpu()
  burst = Math.max(burst, now - last)
  last = now
}, 1)
// Loading the modules is not part of the import.
await new Promise((resolve) => setTimeout(resolve, 200))
const before = process.memoryUsage().rss
burst = 0
last = cpu()
const began = performance.now()
const encoded = await thread.convert({ bytes, names: [] })
const converted = performance.now()
const api = new Api(await decodeSnapshot(encoded.bytes))
const config = { openapi: { snapshot: encoded.hash } }
const deps = { apis: { find: async () => api } }
const actions = await openapi.actions({ project_id: '', config } as never, deps as never, {} as never)
const listed = performance.now()
await new Promise((resolve) => setTimeout(resolve, 50))
clearInterval(watch)
const { operations, leftOut } = api.snapshot
console.log(
  JSON.stringify({
    megabytes,
    operations: operations.length + leftOut.length,
    actions: actions.length,
    largest: Math.max(...operations.map(({ size }) => size)),
    whole: Math.max(...operations.map(({ wholeSize }) => wholeSize)),
    snapshot: encoded.bytes.length / 1e6,
    seconds: (converted - began) / 1000,
    list: (listed - converted) / 1000,
    rss: process.resourceUsage().maxRSS / 1024,
    base: before / 1024 / 1024,
    pause: burst,
    cpu: process.cpuUsage().user / 1e6,
  }),
)
await thread.close()

/** Milliseconds of computing of this thread. */
function cpu(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
