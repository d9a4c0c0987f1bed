import { useMemo, useState } from 'react'
import { bytes, count } from '../format.ts'
import { Button, CopyButton, Row } from './button.tsx'
import { CodeBox } from './code.tsx'
import { pretty } from './pretty.ts'

const atFirst = 20_000
const more = 100_000
/** Laying out more than this would block the page noticeably. */
const maxLength = 400_000

/** Plain text, never interpreted, and limited so that the page stays responsive. */
export function TextView({ text, name = 'text.txt' }: { text: string; name?: string }) {
  const [shown, setShown] = useState(atFirst)
  const isCut = text.length > shown
  return (
    <div>
      <CodeBox wrap>{isCut ? text.slice(0, shown) : text}</CodeBox>
      <Row className="mt-2">
        {isCut && (
          <>
            <span className="text-xs text-soft">
              The first {count(shown)} of {count(text.length)} characters.
            </span>
            {shown < maxLength && (
              <Button onClick={() => setShown(Math.min(shown + more, maxLength))}>Show more</Button>
            )}
          </>
        )}
        {text.length < 200_000 && <CopyButton text={text} variant="quiet" />}
        <Button variant="quiet" onClick={() => download(text, name)}>
          Download ({bytes(text.length)})
        </Button>
      </Row>
    </div>
  )
}

function download(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

export function JsonView({ value, name = 'value.json' }: { value: unknown; name?: string }) {
  const text = useMemo(() => pretty(value), [value])
  return <TextView text={text} name={name} />
}
