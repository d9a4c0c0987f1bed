import { memo, useDeferredValue } from 'react'
import { Markdown } from '../../ui/markdown.tsx'
import { TextView } from '../../ui/text.tsx'

/** Longer text is shown as plain text. Rendering Markdown again for every word would block the page. */
const maxMarkdownLength = 16_000

/** Text from a model as Markdown, never as HTML. */
export const Said = memo(function Said({ text }: { text: string }) {
  // While text streams in, typing and scrolling have priority.
  const shown = useDeferredValue(text)
  if (shown.length > maxMarkdownLength) return <TextView text={shown} name="answer.txt" />
  return (
    <div className="text-base break-words">
      <Markdown text={shown} />
    </div>
  )
})
