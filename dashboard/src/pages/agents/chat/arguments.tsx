import { CodeBox } from '../../../ui/code.tsx'
import { pretty } from '../../../ui/pretty.ts'
import { JsonView, TextView } from '../../../ui/text.tsx'

/** What a call is made with: most are short, and need nothing around them. */
export function Arguments({ value }: { value: unknown }) {
  if (typeof value === 'string') return <TextView text={value} name="arguments.txt" />
  const text = pretty(value ?? {})
  return text.length > 2000 ? <JsonView value={value} name="arguments.json" /> : <CodeBox wrap>{text}</CodeBox>
}
