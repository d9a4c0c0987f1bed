import { stripTypeScriptTypes } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import variant from '@jitl/quickjs-singlefile-mjs-release-sync'
import { newQuickJSWASMModuleFromVariant, type QuickJSDeferredPromise } from 'quickjs-emscripten-core'
import type { FromProgram, ProgramLimits, ToProgram } from './code-messages.ts'

/*
 * Runs one program in QuickJS. It gets plain text in and gives plain text out, and the only thing it can do is ask for a
 * call. It has no clock, randomness, network, files or timers. Answers arrive in the order of the calls, so the same answers
 * always lead to the same program.
 */

const { code, limits } = workerData as { readonly code: string; readonly limits: ProgramLimits }
const port = parentPort
if (!port) throw new Error('this file runs as a worker thread')
const maxName = 300
/** Of the message of an error that a program throws. */
const maxMessage = 2000
/** A program that gets little CPU time must end as well, while its caller still waits. */
const wallFactor = 1.5
const send = (message: FromProgram) => port.postMessage(message)

/** Refuses what exceeds a limit here, so that a program cannot flood the platform with messages. */
const prelude = `
  delete Math.random
  const ask = globalThis.__call
  delete globalThis.__call
  const { Error, Promise, String, JSON: { parse, stringify } } = globalThis
  const refused = (message) => Promise.reject(new Error(message))
  let left = ${limits.calls}
  globalThis.call = (action, input = {}) => {
    if (left === 0) return refused('The program has made ${limits.calls} calls, which is the limit.')
    const name = String(action)
    const text = stringify(input) ?? '{}'
    if (name.length > ${maxName}) return refused('The id of an action is too long.')
    if (text.length > ${limits.jsonChars}) return refused('The input of "' + name + '" is longer than ${limits.jsonChars} characters.')
    left--
    return ask(name, text).then(parse)
  }
  globalThis.tools = new Proxy({}, {
    get: (_, app) => new Proxy({}, { get: (_, name) => (input) => globalThis.call(String(app) + ':' + String(name), input) }),
  })
`

const allIntrinsics = {
  ...{ BaseObjects: true, Eval: true, StringNormalize: true, RegExp: true, RegExpCompiler: true, JSON: true },
  ...{ Proxy: true, MapSet: true, TypedArrays: true, Promise: true },
}

try {
  await run()
} catch (error) {
  send({ kind: 'failed', message: (error as Error).message })
}

/** CPU time, so that a busy machine does not shorten the time of a program. Node 22 has only the clock. */
function clock() {
  const { user = 0, system = 0 } = process.threadCpuUsage?.() ?? {}
  return { cpu: (user + system) / 1000, wall: performance.now() }
}

function timeSince(start: ReturnType<typeof clock>): number {
  const now = clock()
  return Math.max(now.cpu - start.cpu, (now.wall - start.wall) / wallFactor)
}

async function run(): Promise<void> {
  const program = javaScript()
  if (program === undefined) return
  const quickjs = await newQuickJSWASMModuleFromVariant(variant)
  const runtime = quickjs.newRuntime()
  runtime.setMemoryLimit(limits.memoryBytes)
  runtime.setMaxStackSize(512 * 1024)
  const context = runtime.newContext({ intrinsics: { ...allIntrinsics, Date: false } })
  let used = 0
  let since = clock()
  runtime.setInterruptHandler(() => used + timeSince(since) > limits.cpuMs)
  const metered = <T>(work: () => T): T => {
    since = clock()
    try {
      return work()
    } finally {
      used += timeSince(since)
    }
  }
  const tooLong = `the program ran for more than ${limits.cpuMs / 1000} seconds of its own time`
  const problem = (handle: Parameters<typeof context.dump>[0]): string => {
    if (used >= limits.cpuMs) return tooLong
    // Reading it can run code of the program.
    const thrown: unknown = metered(() => context.dump(handle))
    if (used >= limits.cpuMs) return tooLong
    const { name, message } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Record<string, unknown>
    const text =
      message === undefined ? `threw ${JSON.stringify(thrown) ?? String(thrown)}` : `${name ?? 'Error'}: ${message}`
    const tooMuch = `used more than ${limits.memoryBytes / 2 ** 20} MB`
    // Without memory for an error, QuickJS throws null.
    if (thrown === null) return `the program threw null, or ${tooMuch}`
    return /out of memory/.test(text) ? `the program ${tooMuch}` : text.slice(0, maxMessage)
  }

  const waiting: QuickJSDeferredPromise[] = []
  let next = 0
  const call = context.newFunction('__call', (action, input) => {
    const promise = context.newPromise()
    waiting.push(promise)
    send({ kind: 'call', number: next++, action: context.getString(action), input: context.getString(input) })
    return promise.handle
  })
  context.setProp(context.global, '__call', call)
  metered(() => context.unwrapResult(context.evalCode(prelude)).dispose())

  // Before the program can replace it.
  const stringify = context.unwrapResult(context.evalCode('JSON.stringify'))
  const started = metered(() => context.evalCode(program, 'program.js'))
  const fail = (handle: Parameters<typeof context.dump>[0]) => send({ kind: 'failed', message: problem(handle) })
  if (started.error) return fail(started.error)
  const result = started.value
  const settle = () => {
    const jobs = metered(() => runtime.executePendingJobs(-1))
    if (jobs.error) return fail(jobs.error)
    // An interrupted job only rejects its promise.
    if (used >= limits.cpuMs) return send({ kind: 'failed', message: tooLong })
    const state = context.getPromiseState(result)
    if (state.type === 'pending') return send({ kind: 'idle', answered: next - waiting.length })
    if (state.type === 'rejected') return fail(state.error)
    const text = metered(() => context.callFunction(stringify, context.undefined, state.value))
    if (text.error) return fail(text.error)
    const value: unknown = context.dump(text.value)
    if (typeof value === 'string' && value.length > limits.jsonChars)
      return send({ kind: 'failed', message: `it returned more than ${limits.jsonChars} characters: return less` })
    send({ kind: 'done', output: typeof value === 'string' ? value : 'null' })
  }
  port?.on('message', ({ ok, text }: ToProgram) => {
    try {
      const promise = waiting.shift()
      if (!promise) return
      const value = context.newString(text)
      if (ok) promise.resolve(value)
      else promise.reject(context.newError({ name: 'CallError', message: text }))
      settle()
    } catch (error) {
      send({ kind: 'failed', message: (error as Error).message })
    }
  })
  settle()
}

/** The program without its types, as a function that may return and await. Undefined if it cannot be parsed. */
function javaScript(): string | undefined {
  try {
    return stripTypeScriptTypes(`(async () => {\n${code}\n})()`)
  } catch (error) {
    send({ kind: 'failed', message: `the program is not valid TypeScript: ${(error as Error).message.split('\n')[0]}` })
    return undefined
  }
}
