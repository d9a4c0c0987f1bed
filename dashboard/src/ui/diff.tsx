import { diffWordsWithSpace } from 'diff'
import { useMemo } from 'react'
import { count } from '../format.ts'
import { CodeBox } from './code.tsx'
import { visible } from './visible.ts'

/** Beyond this many words that changed, a text is another one. */
const most = 2000
/** What stayed between two changes is part of them if it is no longer than this: a space, a full stop. */
const tiny = 3
/** How much of what stayed is shown around what changed. */
const around = 240

interface Stretch {
  readonly kind: 'same' | 'gone' | 'new'
  readonly text: string
}

/** What became of a text, word by word, with what nobody would see in it spelt out. */
export function diff(before: string, after: string): Stretch[] {
  const [old, fresh] = [visible(before), visible(after)]
  const parts = diffWordsWithSpace(old, fresh, { maxEditLength: most })
  if (!parts)
    return [
      { kind: 'gone', text: old },
      { kind: 'new', text: fresh },
    ]
  const stretches: Stretch[] = []
  let [gone, came] = ['', '']
  const end = () => {
    if (gone) stretches.push({ kind: 'gone', text: gone })
    if (came) stretches.push({ kind: 'new', text: came })
    gone = came = ''
  }
  for (const [index, { added, removed, value }] of parts.entries()) {
    const isBetween = (gone || came) && index < parts.length - 1 && value.length <= tiny
    if (!added && !removed && !isBetween) {
      end()
      stretches.push({ kind: 'same', text: value })
      continue
    }
    if (!added) gone += value
    if (!removed) came += value
  }
  end()
  return stretches
}

/** The change of a text, in the text; long stretches that stayed are left out. */
export function Diff({ before, after }: { before: string; after: string }) {
  const stretches = useMemo(() => diff(before, after), [before, after])
  return (
    <CodeBox wrap>
      {stretches.map(({ kind, text }, index) => {
        const key = `${index} ${kind}`
        if (kind === 'gone')
          return (
            <del key={key} className="bg-bad-wash text-bad">
              {text}
            </del>
          )
        if (kind === 'new')
          return (
            <ins key={key} className="bg-good-wash font-semibold text-good no-underline">
              {text}
            </ins>
          )
        return <Same key={key} text={text} isFirst={index === 0} isLast={index === stretches.length - 1} />
      })}
    </CodeBox>
  )
}

function Same({ text, isFirst, isLast }: { text: string; isFirst: boolean; isLast: boolean }) {
  const start = isFirst ? 0 : around
  const end = isLast ? 0 : around
  const left = text.length - start - end
  if (left < around) return text
  return (
    <>
      {text.slice(0, start)}
      <span className="text-soft"> ⋯ {count(left)} characters that stayed ⋯ </span>
      {text.slice(text.length - end)}
    </>
  )
}
