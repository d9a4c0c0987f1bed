import { memo, useDeferredValue } from 'react'
import { Markdown } from '../../ui/markdown.tsx'
import { TextView } from '../../ui/text.tsx'

/** Beyond this, text is shown as it is: to lay it out anew with every word would hold up the page. */
const mostMarkdown = 16_000

/** What a model said, as Markdown; never as HTML. */
export const Said = memo(function Said({ text }: { text: string }) {
  // While words stream in, typing and scrolling go first.
  const shown = useDeferredValue(text)
  if (shown.length > mostMarkdown) return <TextView text={shown} name="answer.txt" />
  return (
    <div className="text-base break-words">
      <Markdown text={shown} />
    </div>
  )
})
