import { expressionOf, type PlacedFault, type Template, templateOf } from '../../expressions/template.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import type { Step, Workflow } from './definition.ts'
import { language } from './language.ts'

export interface ProgramCall {
  readonly call: string
  readonly input: Template
}

/** A step with its compiled expressions. */
export interface ProgramStep {
  readonly id: string
  readonly call: string | undefined
  readonly input: Template
  readonly if: Template | undefined
  readonly forEach: Template | undefined
  readonly concurrency: number
  readonly retry: { readonly attempts: number; readonly delayMs: number }
  readonly onError: 'fail' | 'continue' | { readonly output: Template } | ProgramCall
  readonly approval: { readonly reason: string | undefined } | undefined
  readonly seconds: Template | undefined
  readonly until: Template | undefined
  readonly event: ProgramEvent | undefined
}

export interface ProgramEvent {
  readonly name: string
  readonly data: JsonObject | undefined
  readonly timeout: Template | undefined
}

export interface Program {
  readonly steps: readonly ProgramStep[]
  readonly output: Template | undefined
}

/** Compiles a workflow. Paths of faults are those of the tool: `workflow.steps[0].input.email`. */
export function programOf(workflow: Workflow): { readonly program: Program; readonly faults: readonly PlacedFault[] } {
  const faults: PlacedFault[] = []
  const steps = workflow.steps.map((step, index) => compileStep(step, `workflow.steps[${index}]`, faults))
  const output =
    workflow.output === undefined ? undefined : templateOf(workflow.output, 'workflow.output', language, faults)
  return { program: { steps, output }, faults }
}

function compileStep(step: Step, path: string, faults: PlacedFault[]): ProgramStep {
  const { wait_for, on_error = 'fail', retry } = step
  const template = (value: Json, at: string) => templateOf(value, `${path}.${at}`, language, faults)
  const expression = (value: Json | undefined, at: string) => {
    if (value === undefined) return undefined
    return typeof value === 'string' ? expressionOf(value, `${path}.${at}`, language, faults) : template(value, at)
  }
  if (step.call === undefined) faults.push(...withoutCall(step, path))
  faults.push(...eventFaults(step, path))
  if (step.concurrency !== undefined && step.for_each === undefined)
    faults.push({ path: `${path}.concurrency`, message: 'has an effect only together with for_each' })
  return {
    id: step.id,
    call: step.call,
    input: template(step.input ?? {}, 'input'),
    if: expression(step.if, 'if'),
    forEach: expression(step.for_each, 'for_each'),
    concurrency: step.concurrency ?? 1,
    retry: { attempts: retry?.attempts ?? 0, delayMs: (retry?.delay_seconds ?? 1) * 1000 },
    onError: errorHandling(on_error, template),
    approval: approvalOf(wait_for?.approval),
    seconds: expression(wait_for?.seconds, 'wait_for.seconds'),
    // A time can be written as it is, so it is a template.
    until: wait_for?.until === undefined ? undefined : template(wait_for.until, 'wait_for.until'),
    event:
      wait_for?.event === undefined
        ? undefined
        : {
            name: wait_for.event,
            data: wait_for.data,
            timeout: expression(wait_for.timeout_seconds, 'wait_for.timeout_seconds'),
          },
  }
}

/** An event is the output of its step, so the step has nothing else. */
function eventFaults({ call, wait_for = {} }: Step, path: string): PlacedFault[] {
  if (wait_for.event === undefined)
    return (['data', 'timeout_seconds'] as const)
      .filter((field) => wait_for[field] !== undefined)
      .map((field) => ({ path: `${path}.wait_for.${field}`, message: 'has an effect only together with event' }))
  const own = 'cannot wait for an event and make a call: put the event in a step of its own before it'
  return [
    ...(call === undefined ? [] : [{ path: `${path}.wait_for.event`, message: own }]),
    ...(['seconds', 'until'] as const)
      .filter((field) => wait_for[field] !== undefined)
      .map((field) => ({ path: `${path}.wait_for.${field}`, message: 'cannot be combined with event' })),
  ]
}

function withoutCall(step: Step, path: string): PlacedFault[] {
  const { seconds, until, event } = step.wait_for ?? {}
  const waits = seconds !== undefined || until !== undefined || event !== undefined
  const missing = waits ? [] : [{ path: `${path}.call`, message: 'is missing: name the action to call' }]
  const useless = (['input', 'for_each', 'retry', 'on_error'] as const).filter(
    (field) => step[field] !== undefined && !(field === 'on_error' && event !== undefined),
  )
  return [
    ...missing,
    ...useless.map((field) => ({ path: `${path}.${field}`, message: 'has no effect in a step without call' })),
    ...(step.wait_for?.approval === undefined
      ? []
      : [{ path: `${path}.wait_for.approval`, message: 'needs a call to approve' }]),
  ]
}

function errorHandling(
  onError: NonNullable<Step['on_error']>,
  template: (value: Json, at: string) => Template,
): ProgramStep['onError'] {
  if (typeof onError === 'string') return onError
  if ('output' in onError) return { output: template(onError.output, 'on_error.output') }
  return { call: onError.call, input: template(onError.input ?? {}, 'on_error.input') }
}

const approvalOf = (approval: NonNullable<Step['wait_for']>['approval']): ProgramStep['approval'] =>
  approval === undefined ? undefined : { reason: approval === true ? undefined : approval.reason }

const programs = new WeakMap<Workflow, Program>()

/** The program of a workflow that has been checked. Compiled once for each object. */
export function checkedProgram(workflow: Workflow): Program {
  let program = programs.get(workflow)
  if (!program) {
    program = programOf(workflow).program
    programs.set(workflow, program)
  }
  return program
}
