import { type ChangeEvent, useState } from 'react'
import { Failure } from './api.ts'
import { useAction } from './use-action.ts'

export interface Saving<Draft, Output> {
  /** The initial draft. */
  readonly start: Draft
  /** The version of the record. A new version resets the form, unless the user has edited it. */
  readonly version?: string
  /** The query keys to invalidate after saving. */
  readonly changes?: readonly string[]
  save(draft: Draft): Promise<Output>
  onDone?(output: Output): void
}

type TextOf<Draft> = { [Name in keyof Draft]: Draft[Name] extends string ? Name : never }[keyof Draft] & string

/** The state of a form: draft, validation errors and saving. */
export function useForm<Draft extends object, Output>({
  start,
  version,
  save,
  changes = [],
  onDone,
}: Saving<Draft, Output>) {
  const [draft, setDraft] = useState(start)
  const [isTouched, setTouched] = useState(false)
  const [begun, setBegun] = useState({ version, round: 0 })
  const action = useAction(save, { changes, ...(onDone && { onDone }) })
  if (version !== begun.version) {
    // Fields with their own text reset with the round.
    setBegun({ version, round: begun.round + (isTouched ? 0 : 1) })
    if (!isTouched) setDraft(start)
  }

  const set = (change: Partial<Draft>) => {
    setTouched(true)
    setDraft((now) => ({ ...now, ...change }))
  }
  const submit = () => {
    setTouched(false)
    // The record may have been reloaded meanwhile, which replaced the draft.
    const onError = () =>
      setTouched((isTyping) => {
        if (!isTyping) setDraft(draft)
        return true
      })
    action.run(draft, { onError })
  }
  const faultOf = faultsOf(action.error)
  /** Props for a text field of the draft. `path` is its name in the API, if different. */
  const text = <Name extends TextOf<Draft>>(name: Name, path: string = name) => ({
    value: draft[name] as string,
    onChange: ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>) =>
      set({ [name]: target.value } as Partial<Draft>),
    error: faultOf(path),
  })
  const { busy, error, done, data } = action
  return { draft, set, text, faultOf, submit, busy, error, data, isSaved: done && !isTouched, round: begun.round }
}

/** The validation errors of a field, including nested ones with their path. */
export const faultsOf = (error: unknown) => {
  const faults = error instanceof Failure ? error.faults : []
  return (path: string): string | undefined => {
    const found = faults.filter(
      (fault) => fault.path === path || fault.path.startsWith(`${path}.`) || fault.path.startsWith(`${path}[`),
    )
    if (found.length === 0) return undefined
    return found
      .map((fault) => (fault.path === path ? fault.message : `${fault.path.slice(path.length)}: ${fault.message}`))
      .join('; ')
  }
}
