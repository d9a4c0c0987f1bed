import { diffWordsWithSpace } from 'diff'
import { useMemo } from 'react'
import { count } from '../format.ts'
import { CodeBox } from './code.tsx'
import { visible } from './visible.ts'

/** Texts with more changed words than this are shown as replaced. */
const maxChanges = 2000
/** Unchanged text between two changes is merged into them up to this length. */
const maxMergedLength = 3
/** Characters of context around a change. */
const around = 240

interface Part {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** A word diff in which invisible characters are spelled out. */
export function diff(before: string, after: string): Part[] {
  const [old, fresh] = [visible(before), visible(after)]
  const changes = diffWordsWithSpace(old, fresh, { maxEditLength: maxChanges })
  if (!changes)
    return [
      { kind: 'removed', text: old },
      { kind: 'added', text: fresh },
    ]
  const parts: Part[] = []
  let [removedText, addedText] = ['', '']
  const end = () => {
    if (removedText) parts.push({ kind: 'removed', text: removedText })
    if (addedText) parts.push({ kind: 'added', text: addedText })
    removedText = addedText = ''
  }
  for (const [index, { added, removed, value }] of changes.entries()) {
    const isBetween = (removedText || addedText) && index < changes.length - 1 && value.length <= maxMergedLength
    if (!added && !removed && !isBetween) {
      end()
      parts.push({ kind: 'same', text: value })
      continue
    }
    if (!added) removedText += value
    if (!removed) addedText += value
  }
  end()
  return parts
}

/** An inline diff. Long unchanged parts are omitted. */
export function Diff({ before, after }: { before: string; after: string }) {
  const parts = useMemo(() => diff(before, after), [before, after])
  return (
    <CodeBox wrap>
      {parts.map(({ kind, text }, index) => {
        const key = `${index} ${kind}`
        if (kind === 'removed')
          return (
            <del key={key} className="bg-bad-wash text-bad">
              {text}
            </del>
          )
        if (kind === 'added')
          return (
            <ins key={key} className="bg-good-wash font-semibold text-good no-underline">
              {text}
            </ins>
          )
        return <Same key={key} text={text} isFirst={index === 0} isLast={index === parts.length - 1} />
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
      <span className="text-soft"> ⋯ {count(left)} unchanged characters ⋯ </span>
      {text.slice(text.length - end)}
    </>
  )
}
