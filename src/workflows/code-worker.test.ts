import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import type { FromProgram, ToProgram } from './code-messages.ts'

const small = { memoryBytes: 16 * 2 ** 20, calls: 20, jsonChars: 10_000 }

/** Runs a program with small limits. Calls return their input. */
async function run(code: string, cpuMs = 20_000): Promise<{ end: FromProgram; calls: string[] }> {
  const limits = { ...small, cpuMs }
  const worker = new Worker(new URL('./code-worker.ts', import.meta.url), { workerData: { code, limits }, env: {} })
  const calls: string[] = []
  try {
    const end = await new Promise<FromProgram>((resolve, reject) => {
      worker.on('error', reject)
      worker.on('message', (message: FromProgram) => {
        if (message.kind === 'done' || message.kind === 'failed') resolve(message)
        if (message.kind !== 'call') {
          if (message.kind === 'idle' && message.answered === calls.length) resolve(message)
          return
        }
        calls.push(message.action)
        worker.postMessage({ ok: message.action !== 'x:fail', text: message.input } satisfies ToProgram)
      })
    })
    return { end, calls }
  } finally {
    await worker.terminate()
  }
}

const tooLong = /^the program ran for more than 0.5 seconds/
const tooMuch = /used more than 16 MB/

test.concurrent.each([
  ['an endless loop', 'while (true);', tooLong],
  ['an endless chain of promises', 'const again = () => Promise.resolve().then(again); await again()', tooMuch],
  ['an endless await', 'while (true) await null', tooLong],
  ['an endless loop that catches everything', 'while (true) { try { while (true); } catch {} }', tooLong],
  ['a pattern that backtracks without end', 'return /^(a+)+$/.test("a".repeat(50) + "!")', tooLong],
  ['a result that loops when it is read', 'return { toJSON() { while (true); } }', tooLong],
  ['an error that loops when it is read', 'throw { get message() { while (true); } }', tooLong],
  ['a list that grows', 'const list = []; for (;;) list.push([1, 2, 3])', tooMuch],
  ['a text that doubles', 'let text = "x"; for (;;) text += text', /more than|out of memory|too long|length/i],
  ['a huge array', 'return new Uint8Array(2 ** 30).length', /more than|out of memory|length/i],
  ['endless recursion', 'const f = () => f() + 1; return f()', /stack/i],
  ['an endless flood of calls', 'for (;;) call("x:y", {}).catch(() => {})', tooLong],
  ['a huge input', 'await call("x:y", { text: "x".repeat(20000) })', /longer than 10000 characters/],
  ['a huge name', 'await call("x".repeat(1000), {})', /too long/],
  ['a huge result', 'return "x".repeat(20000)', /returned more than 10000 characters/],
  ['a circular result', 'const a = {}; a.a = a; return a', /circular/i],
  ['a big integer as result', 'return 1n', /bigint/i],
  ['a thrown text', 'throw "no"', /^threw "no"$/],
  ['a thrown null', 'throw null', /^the program threw null/],
  ['nothing thrown', 'throw undefined', /^threw undefined$/],
  ['a thrown symbol', 'throw Symbol("no")', /./],
  ['a thrown function', 'throw () => 1', /./],
  ['a long error', 'throw new Error("x".repeat(9000))', /^Error: x{1000,1995}$/],
  ['an error of a call', 'await call("x:fail", "broken")', /broken/],
  ['an action that is no text', 'await call({ toString() { throw new Error("no name") } })', /no name/],
  ['an input that is circular', 'const a = {}; a.a = a; await call("x:y", a)', /circular/i],
  ['syntax of a module', 'import fs from "node:fs"', /TypeScript|import/i],
])('%s ends with a clear error', async (_, code, message) => {
  const { end } = await run(code, message === tooLong ? 500 : undefined)

  expect(end).toMatchObject({ kind: 'failed', message: expect.stringMatching(message) })
  expect(end.kind === 'failed' && end.message.length).toBeLessThan(2100)
})

test.concurrent('10,000 promises are 20 calls, and the rest are refused', async () => {
  const { end, calls } = await run(
    'const all = await Promise.allSettled(Array.from({ length: 10000 }, (_, n) => call("x:y", { n }))); return all.filter((one) => one.status === "fulfilled").length',
  )

  expect(end).toEqual({ kind: 'done', output: '20' })
  expect(calls).toHaveLength(20)
})

test.concurrent('a promise that never settles is noticed', async () => {
  expect((await run('await new Promise(() => {})')).end).toEqual({ kind: 'idle', answered: 0 })
})

test.concurrent.each([
  'process',
  'require',
  'module',
  'globalThis.process',
  'fetch',
  'XMLHttpRequest',
  'WebAssembly',
  'Worker',
  'SharedArrayBuffer && Atomics.wait',
  'setTimeout',
  'setInterval',
  'queueMicrotask',
  'Date',
  'Math.random',
  'performance',
  'crypto',
  'navigator',
  'Deno',
  'std',
  'os',
  'Buffer',
  '__call',
  'parentPort',
  'workerData',
])('a program has no %s', async (name) => {
  const code = `try { return typeof (${name}) } catch (error) { return error.name }`
  const { end } = await run(code)

  expect(end.kind === 'done' && JSON.parse(end.output)).toMatch(/^(undefined|ReferenceError|TypeError)$/)
})

test.concurrent.each([
  ['the constructor of functions', 'return (() => {}).constructor("return typeof process")()'],
  ['the constructor of a call', 'return call.constructor("return typeof process")()'],
  ['the prototype of a result', 'return (await call("x:y", {})).constructor.constructor("return typeof process")()'],
  [
    'the error of a call',
    'try { await call("x:fail", {}) } catch (error) { return error.constructor.constructor("return typeof process")() }',
  ],
  ['an async function', 'return await (async () => {}).constructor("return typeof process")()'],
  ['a generator', 'return (function* () {}).constructor("yield typeof process")().next().value'],
  ['eval', 'return (0, eval)("typeof process")'],
  ['a proxy', 'return new Proxy(call, {}).constructor("return typeof process")()'],
  [
    'a stack trace',
    'Error.prepareStackTrace = (_, frames) => frames; return typeof new Error().stack === "x" ? 1 : "undefined"',
  ],
])('the host cannot be reached through %s', async (_, code) => {
  const { end } = await run(code)

  expect(end).toEqual({ kind: 'done', output: '"undefined"' })
})

test.concurrent('changed prototypes stay in the program', async () => {
  const { end, calls } = await run(`
    Object.prototype.polluted = 'yes'
    Array.prototype.push = () => { throw new Error('no') }
    Promise.prototype.then = new Proxy(Promise.prototype.then, {})
    JSON.parse = () => 'mine'
    return JSON.stringify(await call('x:y', { '__proto__': null, constructor: 1 }))
  `)

  expect(end.kind).toBe('done')
  expect(calls).toEqual(['x:y'])
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})
