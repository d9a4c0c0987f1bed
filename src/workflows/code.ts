import { Worker } from 'node:worker_threads'
import type { CalledServer } from '../dispatch/call.ts'
import { canonical } from '../lib/canonical.ts'
import { isObject, type Json, type JsonObject } from '../lib/json.ts'
import { PlatformError } from '../model/errors.ts'
import type { RunError } from '../model/workflow-run.ts'
import type { RunCall } from '../store/workflow-runs.ts'
import type { Advance, Progress } from './advance.ts'
import type { FromProgram, ProgramLimits, ToProgram } from './code-messages.ts'
import { type Advancing, Cancelled, type RunDeps, type RunWait } from './deps.ts'
import { errorOf, makeCall, notFound } from './make-call.ts'
import { begin } from './run-step.ts'

const limits: ProgramLimits = { memoryBytes: 64 * 2 ** 20, cpuMs: 30_000, calls: 200, jsonChars: 1_000_000 }
const atOnce = 10
/** Threads cost memory, so only this many programs run at once. */
const maxThreads = 16

export interface CodeDeps {
  /** The server that a program was sent to, and whether it offers an action. */
  findServer(id: string): Promise<CalledServer | undefined>
  offers(server: CalledServer, action: string): Promise<boolean>
}

interface CodeDefinition {
  readonly code: string
  readonly server_id: string
}

/** Runs a program from its start. Calls that have an output in the journal return it at once. */
export function advanceCode(codeDeps: CodeDeps): Advance {
  const slots = new Slots(maxThreads)
  return async (advancing, deps) => {
    const { code, server_id } = advancing.run.settings.definition as unknown as CodeDefinition
    const server = await codeDeps.findServer(server_id)
    if (!server) throw new PlatformError('RESOURCE_NOT_FOUND', { kind: 'server', id: server_id })
    return slots.run(() => new ProgramRun(code, server, advancing, deps, codeDeps).finish())
  }
}

class Slots {
  #free: number
  readonly #queue: (() => void)[] = []

  constructor(size: number) {
    this.#free = size
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#queue.push(resolve))
    else this.#free--
    try {
      return await work()
    } finally {
      const next = this.#queue.shift()
      if (next) next()
      else this.#free++
    }
  }
}

type Answer = ToProgram | { readonly wait: RunWait }

/** One attempt at a program: its thread, and the calls it makes. */
class ProgramRun {
  readonly #worker: Worker
  readonly #server: CalledServer
  readonly #advancing: Advancing
  readonly #deps: RunDeps
  readonly #codeDeps: CodeDeps
  readonly #end = Promise.withResolvers<Progress>()
  /** Answers by the number of the call. They are given to the program in this order. */
  readonly #answers = new Map<number, Answer>()
  readonly #queue: (() => Promise<void>)[] = []
  #running = 0
  #given = 0
  #made = 0

  constructor(code: string, server: CalledServer, advancing: Advancing, deps: RunDeps, codeDeps: CodeDeps) {
    this.#server = server
    this.#advancing = advancing
    this.#deps = deps
    this.#codeDeps = codeDeps
    this.#worker = new Worker(new URL('./code-worker.ts', import.meta.url), {
      workerData: { code, limits },
      env: {},
      stdin: false,
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    })
    this.#worker.on('message', (message: FromProgram) => this.#read(message))
    this.#worker.on('error', (error) => this.#end.reject(error))
    this.#worker.on('exit', () => this.#end.reject(new Error('the thread of the program ended')))
  }

  async finish(): Promise<Progress> {
    const { stop, cancel } = this.#advancing.signals
    const abort = () => this.#end.reject(cancel.aborted ? new Cancelled() : stop.reason)
    const either = AbortSignal.any([stop, cancel])
    if (either.aborted) abort()
    either.addEventListener('abort', abort)
    try {
      return await this.#end.promise
    } finally {
      either.removeEventListener('abort', abort)
      await this.#worker.terminate()
    }
  }

  #read(message: FromProgram): void {
    if (message.kind === 'call') this.#call(message)
    else if (message.kind === 'done') {
      this.#end.resolve({ end: { status: 'completed', error: null, output: JSON.parse(message.output) as Json } })
    } else if (message.kind === 'failed') this.#fail(new PlatformError('CODE_FAILED', { reason: message.message }))
    else if (message.answered === this.#made)
      this.#fail(new PlatformError('CODE_FAILED', { reason: 'it waits for something that never happens' }))
    else this.#restIfStuck()
  }

  #fail(error: PlatformError): void {
    this.#end.resolve({ end: { status: 'failed', error: errorOf(error), output: null } })
  }

  #call({ number, action, input }: Extract<FromProgram, { kind: 'call' }>): void {
    this.#made = number + 1
    this.#queue.push(async () => {
      this.#answers.set(number, await this.#answer(number, action, input))
    })
    this.#work()
  }

  #work(): void {
    while (this.#running < atOnce) {
      const next = this.#queue.shift()
      if (!next) return
      this.#running++
      next().then(
        () => {
          this.#running--
          this.#give()
          this.#work()
        },
        (error: unknown) => this.#end.reject(error),
      )
    }
  }

  /** Gives the program the next answers, in the order of its calls. */
  #give(): void {
    for (
      let answer = this.#answers.get(this.#given);
      answer && 'ok' in answer;
      answer = this.#answers.get(this.#given)
    ) {
      this.#given++
      this.#worker.postMessage(answer)
    }
    this.#restIfStuck()
  }

  /** The program needs the answer to a call that waits, and no other call is being made. */
  #restIfStuck(): void {
    const next = this.#answers.get(this.#given)
    if (this.#running > 0 || this.#queue.length > 0 || !next || !('wait' in next)) return
    const waits = [...this.#answers.values()].flatMap((answer) => ('wait' in answer ? [answer.wait] : []))
    this.#end.resolve({ waits })
  }

  async #answer(number: number, action: string, text: string): Promise<Answer> {
    const input: unknown = JSON.parse(text)
    if (!isObject(input)) return { ok: false, text: `The input of "${action}" must be an object.` }
    const { run, journal } = this.#advancing
    const known = journal.calls.find((call) => call.item === number)
    if (known) requireSame(known, action, input)
    if (!known && !(await this.#codeDeps.offers(this.#server, action))) {
      return { ok: false, text: (await notFound(action, run.project_id, this.#deps)).message }
    }
    const call =
      known ?? (await begin({ step: 'program', item: number, attempt: 0, action, input }, this.#advancing, this.#deps))
    if (call.output !== undefined) return toAnswer(call)
    const made = await makeCall(call, this.#advancing, { isFresh: !known, server: this.#server }, this.#deps)
    return made.wait ? { wait: made.wait } : toAnswer(made.call)
  }
}

function requireSame(known: RunCall, action: string, input: JsonObject): void {
  if (known.action === action && canonical(known.input) === canonical(input)) return
  throw new PlatformError('CODE_NOT_DETERMINISTIC', { call: known.item + 1, before: known.action, now: action })
}

const toAnswer = ({ output, is_error, action }: RunCall): ToProgram =>
  is_error
    ? { ok: false, text: `${action}: ${(output as unknown as RunError).message}` }
    : { ok: true, text: JSON.stringify(output ?? null) }
