import { type ReactNode, useState } from 'react'
import { TextArea } from './field.tsx'
import { pretty } from './pretty.ts'

export type Json = Record<string, unknown>

/** A JSON editor. The text is kept as typed, and the value updates whenever it is valid. */
export function JsonField({
  label,
  hint,
  error,
  value,
  onChange,
  rows = 8,
  placeholder,
}: {
  label: ReactNode
  hint?: ReactNode
  error?: string | undefined
  value: unknown
  /** Undefined while the text is not valid JSON. */
  onChange: (value: unknown) => void
  rows?: number
  placeholder?: string
}) {
  const [text, setText] = useState(() => (value === null || value === undefined ? '' : pretty(value)))
  const [fault, setFault] = useState<string>()
  const change = (typed: string) => {
    setText(typed)
    if (typed.trim() === '') {
      setFault(undefined)
      onChange(null)
      return
    }
    try {
      onChange(JSON.parse(typed))
      setFault(undefined)
    } catch (reason) {
      setFault(`Invalid JSON: ${(reason as Error).message}`)
      onChange(undefined)
    }
  }
  return (
    <TextArea
      label={label}
      hint={hint}
      error={fault ?? error}
      mono
      rows={rows}
      placeholder={placeholder}
      value={text}
      onChange={(event) => change(event.target.value)}
    />
  )
}
