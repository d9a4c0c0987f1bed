import { CodeBox } from '../../../ui/code.tsx'
import { pretty } from '../../../ui/pretty.ts'
import { JsonView, TextView } from '../../../ui/text.tsx'

/** The arguments of a call. Short ones are shown inline. */
export function Arguments({ value }: { value: unknown }) {
  if (typeof value === 'string') return <TextView text={value} name="arguments.txt" />
  const text = pretty(value ?? {})
  return text.length > 2000 ? <JsonView value={value} name="arguments.json" /> : <CodeBox wrap>{text}</CodeBox>
}
