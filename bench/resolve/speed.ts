/**
 * Measures search among 1,000, 10,000 and 50,000 actions, with the built-in model in its worker thread: the time to build the
 * keyword index, to load the vectors from SQLite, for one query and for a request of ten, and the longest pause of the event
 * loop.
 *
 *     QM_RETRIEVAL=<folder> node bench/resolve/speed.ts [sizes,…]
 */
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { ServerAction, ServerCatalogue } from '../../src/catalogue/server-catalogue.ts'
import type { Principal } from '../../src/model/principal.ts'
import { EmbeddedModel } from '../../src/search/embedded.ts'
import { indexAction, type SearchableAction } from '../../src/search/indexed-action.ts'
import { modelName, vectorSize } from '../../src/search/model.ts'
import { Resolver, subjectOf } from '../../src/search/resolver.ts'
import { SemanticIndex } from '../../src/search/semantic-index.ts'
import { openStore } from '../../src/store/store.ts'
import { hasData, noData, readSet } from './data.ts'

const principal = { kind: 'api_key', id: 'key_1' } as Principal

async function run(size: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'quartermaster-bench-'))
  const store = await openStore({ data: folder })
  const sets = ['n8n-steps-dev', 'activepieces-titles', 'toolret-apigen'].map((name) => readSet(name))
  const real = sets.flatMap(({ subjects }) => subjects)
  const subjects = Array.from({ length: size }, (_, at) =>
    copyOf(real[at % real.length] as SearchableAction, Math.floor(at / real.length)),
  )
  for (let start = 0; start < size; start += 500) {
    await store.vectors.add(modelName, subjects.slice(start, start + 500).map(toRow))
  }
  const all = subjects.map(toServerAction)
  const catalogue: ServerCatalogue = {
    byName: new Map(),
    named: [],
    all,
    withheld: new Map(),
    passed: { prompts: [], resources: [] },
    complete: true,
    version: 1,
  }
  const model = new EmbeddedModel(undefined)
  const semantic = new SemanticIndex(model, store, (text) => console.error(text))
  const resolver = new Resolver(semantic)
  const caller = { serverId: 'srv_1', catalogue: catalogue, principal, may: () => true }
  const memoryBefore = process.memoryUsage().rss
  const pauses = watchPauses()

  const indexed = await timed(() => resolver.find(['List contacts Salesforce'], caller, 10))
  const fromCache = await timed(() => semantic.idle())
  const longestPause = pauses.stop()
  const [warm] = await resolver.find(['Create an invoice'], caller, 1)
  if (warm?.matches[0]?.features.meaning === 0) throw new Error('the vectors were not used')

  const queries = sets.flatMap(({ queries: some }) => some.slice(0, 150).map(({ text }) => text))
  const single: number[] = []
  const alone: number[] = []
  const { signal } = new AbortController()
  for (const query of queries) {
    single.push(await timed(() => resolver.find([query], caller, 3)))
    alone.push(await timed(() => model.embed([`${query} please`], 'query', signal)))
  }
  const ten: number[] = []
  for (let start = 0; start + 10 <= 300; start += 10) {
    ten.push(
      await timed(() =>
        resolver.find(
          queries.slice(start, start + 10).map((text) => `${text} now`),
          caller,
          3,
        ),
      ),
    )
  }
  // Listed again: new objects with the same content, as from an upstream server, and one action in a thousand changed.
  const again: number[] = []
  const relisted = {
    ...catalogue,
    all: subjects.map((one, at) => toServerAction(at % 1000 === 0 ? changed(one) : one)),
  }
  const relisting = watchPauses()
  let isListed = false
  void resolver.prepare(caller.serverId, relisted).then(() => {
    isListed = true
  })
  // Searches arrive one after the other, half of them with new texts, until the new list is in use.
  for (let count = 0; !isListed; count++) {
    const query = `${queries[count % queries.length]}${count % 2 === 0 ? '' : ` ${count}`}`
    await setTimeout(1)
    again.push(await timed(() => resolver.find([query], { ...caller, catalogue: relisted }, 3)))
  }
  const relistingPause = relisting.stop()
  const memory = (process.memoryUsage().rss - memoryBefore) / 2 ** 20
  console.log(
    [
      `${String(size).padStart(6)} actions`,
      `keyword index ${indexed.toFixed(0)} ms`,
      `vectors from cache ${fromCache.toFixed(0)} ms`,
      `longest pause ${longestPause.toFixed(0)} ms`,
      `one query p50 ${at(single, 0.5)} p95 ${at(single, 0.95)} ms (model only: ${at(alone, 0.5)} and ${at(alone, 0.95)})`,
      `ten p50 ${at(ten, 0.5)} p95 ${at(ten, 0.95)} ms`,
      `${again.length} searches while listed again p95 ${at(again, 0.95)} longest ${Math.max(...again).toFixed(0)} ms (longest pause ${relistingPause.toFixed(0)} ms of CPU)`,
      `memory +${memory.toFixed(0)} MB`,
    ].join(', '),
  )
  await semantic.close()
  await store.close()
  await rm(folder, { recursive: true })
}

/** A copy of the action in an app with another name. */
const copyOf = (subject: SearchableAction, copy: number): SearchableAction =>
  copy === 0
    ? subject
    : { ...subject, app: `${subject.app}${copy}`, appName: `${subject.appName ?? subject.app} ${copy}` }

const changed = (subject: SearchableAction): SearchableAction => ({ ...subject, description: 'Changed' })

const toServerAction = (subject: SearchableAction): ServerAction =>
  ({
    kind: 'action',
    tool: { id: subject.app, description: subject.appName ?? null },
    action: {
      ...subject,
      id: `${subject.app}:${subject.name}`,
      namespace: subject.app,
      definition: subject.title ? { title: subject.title } : {},
    },
    prepared: { publicSchema: subject.schema },
  }) as unknown as ServerAction

/** A cached vector. Its values do not affect the speed. */
function toRow(subject: SearchableAction, at: number): { text_hash: string; bytes: Uint8Array } {
  const { short, whole } = indexAction(subjectOf(toServerAction(subject))).texts()
  const bytes = Buffer.alloc(2 * vectorSize)
  for (let place = 0; place < bytes.length; place++)
    bytes[place] = (Math.imul(at + 1, 2654435761 + place * 40503) >>> 13) & 63
  return { text_hash: createHash('sha256').update(`${short}\n${whole}`).digest('hex'), bytes }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

const at = (times: readonly number[], share: number) =>
  ([...times].sort((a, b) => a - b)[Math.floor(times.length * share)] ?? 0).toFixed(1)

/** Measures the longest time that this thread blocked its event loop, in CPU time, so that it does not depend on the load. */
function watchPauses(): { stop(): number } {
  const cpuTime = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let last = cpuTime()
  let longest = 0
  const timer = setInterval(() => {
    const now = cpuTime()
    longest = Math.max(longest, now - last)
    last = now
  }, 1)
  return {
    stop() {
      clearInterval(timer)
      return longest
    },
  }
}

if (hasData()) for (const size of (process.argv[2] ?? '1000,10000,50000').split(',').map(Number)) await run(size)
else console.log(noData)
