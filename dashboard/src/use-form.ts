import { type ChangeEvent, useState } from 'react'
import { Failure } from './api.ts'
import { useAction } from './use-action.ts'

export interface Saving<Draft, Output> {
  /** What stands in the form at first. */
  readonly start: Draft
  /** Which state of a record that is: with another one the form begins anew, unless someone is typing. */
  readonly version?: string
  /** The keys of what is to be read again once it is saved. */
  readonly changes?: readonly string[]
  save(draft: Draft): Promise<Output>
  onDone?(output: Output): void
}

type TextOf<Draft> = { [Name in keyof Draft]: Draft[Name] extends string ? Name : never }[keyof Draft] & string

/** What someone writes in a form, what was wrong with it when it was sent, and how saving it stands. */
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
    // Fields that keep a text of their own begin anew with the round.
    setBegun({ version, round: begun.round + (isTouched ? 0 : 1) })
    if (!isTouched) setDraft(start)
  }

  const set = (change: Partial<Draft>) => {
    setTouched(true)
    setDraft((now) => ({ ...now, ...change }))
  }
  const submit = () => {
    setTouched(false)
    // Meanwhile the record may have been read anew, and what was sent replaced by that.
    const onError = () =>
      setTouched((isTyping) => {
        if (!isTyping) setDraft(draft)
        return true
      })
    action.run(draft, { onError })
  }
  const faultOf = faultsOf(action.error)
  /** What a field for one text of the draft needs; `path` is the platform's name for it, where that is another. */
  const text = <Name extends TextOf<Draft>>(name: Name, path: string = name) => ({
    value: draft[name] as string,
    onChange: ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>) =>
      set({ [name]: target.value } as Partial<Draft>),
    error: faultOf(path),
  })
  const { busy, error, done, data } = action
  return { draft, set, text, faultOf, submit, busy, error, data, isSaved: done && !isTouched, round: begun.round }
}

/** What is wrong with a field, or with something inside it, with the place. */
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
