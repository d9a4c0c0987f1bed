import { useMemo, useState } from 'react'
import { bytes, count } from '../format.ts'
import { Button, CopyButton, Row } from './button.tsx'
import { CodeBox } from './code.tsx'
import { pretty } from './pretty.ts'

const atFirst = 20_000
const more = 100_000
/** A browser lays out no more than this without a pause that people notice. */
const most = 400_000

/** Text as it is, whatever it holds: never run, and never so much at once that the page stops. */
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
            {shown < most && <Button onClick={() => setShown(Math.min(shown + more, most))}>Show more</Button>}
          </>
        )}
        {text.length < 200_000 && <CopyButton text={text} look="quiet" />}
        <Button look="quiet" onClick={() => download(text, name)}>
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

interface TextContent {
  readonly type: 'text'
  readonly text: string
}

const textsOf = (value: unknown): TextContent[] => {
  const { content } = (typeof value === 'object' && value !== null ? value : {}) as { content?: unknown }
  return Array.isArray(content) && content.length > 0 && content.every((part) => part?.type === 'text') ? content : []
}

/** What a tool answered: text as text, the text of an MCP result as text, and anything else as JSON. */
export function OutputView({ value }: { value: unknown }) {
  const [isRaw, setRaw] = useState(false)
  const texts = textsOf(value)
  if (typeof value === 'string') return <TextView text={value} name="output.txt" />
  if (texts.length === 0) return <JsonView value={value} name="output.json" />
  return (
    <div className="space-y-2">
      {isRaw ? (
        <JsonView value={value} name="output.json" />
      ) : (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of an answer have no other name than their place
        texts.map(({ text }, index) => <TextView key={index} text={text} name="output.txt" />)
      )}
      <Button look="quiet" onClick={() => setRaw(!isRaw)}>
        {isRaw ? 'Show the text' : 'Show the whole result as JSON'}
      </Button>
    </div>
  )
}
