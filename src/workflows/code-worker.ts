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
const send = (message: FromProgram) => port.postMessage(message)

const prelude = `
  delete Math.random
  const ask = globalThis.__call
  delete globalThis.__call
  globalThis.call = (action, input = {}) => ask(String(action), JSON.stringify(input) ?? '{}').then(JSON.parse)
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

async function run(): Promise<void> {
  const program = javaScript()
  if (program === undefined) return
  const quickjs = await newQuickJSWASMModuleFromVariant(variant)
  const runtime = quickjs.newRuntime()
  runtime.setMemoryLimit(limits.memoryBytes)
  runtime.setMaxStackSize(512 * 1024)
  const context = runtime.newContext({ intrinsics: { ...allIntrinsics, Date: false } })
  let used = 0
  let since = 0
  runtime.setInterruptHandler(() => used + performance.now() - since > limits.cpuMs)
  const metered = <T>(work: () => T): T => {
    since = performance.now()
    try {
      return work()
    } finally {
      used += performance.now() - since
    }
  }
  const problem = (handle: Parameters<typeof context.dump>[0]): string => {
    if (used >= limits.cpuMs) return `the program ran for more than ${limits.cpuMs / 1000} seconds of its own time`
    const thrown: unknown = context.dump(handle)
    const { name, message } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Record<string, unknown>
    const text =
      message === undefined ? `threw ${JSON.stringify(thrown) ?? String(thrown)}` : `${name ?? 'Error'}: ${message}`
    return /out of memory/.test(text) ? `the program used more than ${limits.memoryBytes / 2 ** 20} MB` : text
  }

  const waiting: QuickJSDeferredPromise[] = []
  let next = 0
  const call = context.newFunction('__call', (action, input) => {
    const promise = context.newPromise()
    waiting.push(promise)
    const number = next++
    send({ kind: 'call', number, action: context.getString(action), input: context.getString(input) })
    return promise.handle
  })
  context.setProp(context.global, '__call', call)
  metered(() => context.unwrapResult(context.evalCode(prelude)).dispose())

  const started = metered(() => context.evalCode(program, 'program.js'))
  if (started.error) return send({ kind: 'failed', message: problem(started.error) })
  const result = started.value
  const settle = () => {
    const jobs = metered(() => runtime.executePendingJobs(-1))
    if (jobs.error) return send({ kind: 'failed', message: problem(jobs.error) })
    const state = context.getPromiseState(result)
    if (state.type === 'pending') return send({ kind: 'idle', answered: next - waiting.length })
    if (state.type === 'rejected') return send({ kind: 'failed', message: problem(state.error) })
    const text = metered(() => context.unwrapResult(context.callFunction(stringify, context.undefined, state.value)))
    const value: unknown = context.dump(text)
    send({ kind: 'done', output: typeof value === 'string' ? value : 'null' })
  }
  const stringify = context.unwrapResult(context.evalCode('JSON.stringify'))
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
