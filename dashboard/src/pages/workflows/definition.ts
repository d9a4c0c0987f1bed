import type { Tool } from '../../api.ts'

/** A step of a workflow, as far as the graph shows it. */
export interface DefinedStep {
  readonly id: string
  readonly call?: string
  readonly if?: unknown
  readonly for_each?: unknown
  readonly retry?: { readonly attempts: number }
  readonly on_error?: unknown
  readonly wait_for?: {
    readonly approval?: unknown
    readonly seconds?: unknown
    readonly until?: unknown
    readonly event?: string
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The steps of a definition. A program has none. */
export const stepsIn = (definition: unknown): readonly DefinedStep[] =>
  isObject(definition) && Array.isArray(definition.steps) ? (definition.steps as DefinedStep[]) : []

export const definitionOf = ({ workflow }: Tool): unknown => workflow

/** The code of a program that a model wrote. */
export const codeIn = (definition: unknown): string | undefined =>
  isObject(definition) && typeof definition.code === 'string' ? definition.code : undefined

/** The earlier steps whose values a step uses. */
export function sourcesOf(step: DefinedStep): readonly string[] {
  const text = JSON.stringify(step)
  const names = [...text.matchAll(/\bsteps(?:\.(\w+)|\[\\?["'](\w+)\\?["']\])/g)].map(
    ([, one, other]) => one ?? other ?? '',
  )
  return [...new Set(names)].filter((name) => name !== step.id)
}

/** The action that is called if the step fails. */
export const compensationOf = ({ on_error }: DefinedStep): string | undefined =>
  isObject(on_error) && typeof on_error.call === 'string' ? on_error.call : undefined

/** What is special about a step, in a few words. */
export function marksOf({ if: condition, for_each, retry, on_error, wait_for = {} }: DefinedStep): string[] {
  return [
    ...(condition === undefined ? [] : ['if']),
    ...(for_each === undefined ? [] : ['for each']),
    ...(wait_for.approval === undefined ? [] : ['approval']),
    ...(wait_for.seconds === undefined && wait_for.until === undefined ? [] : ['waits']),
    ...(wait_for.event === undefined ? [] : [`event ${wait_for.event}`]),
    ...(retry ? [`${retry.attempts} ${retry.attempts === 1 ? 'retry' : 'retries'}`] : []),
    ...(on_error === 'continue' || (isObject(on_error) && 'output' in on_error) ? ['may fail'] : []),
  ]
}
