import { type RefObject, useEffect, useRef } from 'react'

/** A text area with line numbers. Lines with problems are marked. */
export function TextEditor({
  label,
  text,
  onChange,
  faulty,
  area,
}: {
  label: string
  text: string
  onChange: (text: string) => void
  faulty: ReadonlySet<number>
  area: RefObject<HTMLTextAreaElement | null>
}) {
  const gutter = useRef<HTMLDivElement>(null)
  const align = () => {
    if (gutter.current && area.current) gutter.current.scrollTop = area.current.scrollTop
  }
  // A long paste scrolls the text before its numbers are there.
  useEffect(align)
  const lines = text.split('\n').length
  return (
    <div className="flex overflow-hidden rounded-md border border-edge/60 bg-panel focus-within:border-accent">
      <div
        ref={gutter}
        aria-hidden="true"
        className="shrink-0 overflow-hidden bg-sunken py-2 text-right font-mono text-sm text-soft select-none"
      >
        {Array.from({ length: lines }, (_, index) => {
          const line = index + 1
          return (
            <div key={line} className={`px-2 ${faulty.has(line) ? 'bg-bad-wash font-semibold text-bad' : ''}`}>
              {line}
            </div>
          )
        })}
      </div>
      <textarea
        ref={area}
        aria-label={label}
        rows={24}
        wrap="off"
        spellCheck={false}
        value={text}
        onScroll={align}
        onChange={(event) => onChange(event.target.value)}
        className="min-w-0 grow resize-none bg-panel px-2 py-2 font-mono text-sm outline-none"
      />
    </div>
  )
}

/** Moves the cursor to a place in the text, and scrolls there. */
export function goTo(area: HTMLTextAreaElement | null, { line, column }: { line: number; column: number }): void {
  if (!area) return
  const before = area.value.split('\n').slice(0, line - 1)
  const start = before.reduce((sum, one) => sum + one.length + 1, 0)
  const end = area.value.indexOf('\n', start)
  area.focus()
  area.setSelectionRange(start + column - 1, end < 0 ? area.value.length : end)
  const lines = area.value.split('\n').length
  area.scrollTop = Math.max(0, (area.scrollHeight * (line - 4)) / lines)
}
