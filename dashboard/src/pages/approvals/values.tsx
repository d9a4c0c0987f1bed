import { useMemo, useState } from 'react'
import { count } from '../../format.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { pretty } from '../../ui/pretty.ts'
import { JsonView, TextView } from '../../ui/text.tsx'
import { hides, plain } from './escape-invisible.ts'

const longest = 600
const maxItems = 50
const maxParts = 400
const deepest = 6

/** Counts nested values, up to a limit. */
function partsOf(value: unknown, counted = 0): number {
  if (typeof value !== 'object' || value === null || counted > maxParts) return counted + 1
  return Object.values(value).reduce((sum: number, inner) => (sum > maxParts ? sum : partsOf(inner, sum)), counted + 1)
}

/** Arguments as names and values. Long ones are shortened, and everything is rendered as text. */
export function Values({ value }: { value: Record<string, unknown> }) {
  const isLarge = useMemo(() => partsOf(value) > maxParts, [value])
  const [isJson, setJson] = useState(isLarge)
  if (Object.keys(value).length === 0) return <p className="text-sm text-soft">No arguments.</p>
  return (
    <div className="space-y-2">
      {isJson ? <JsonView value={value} name="arguments.json" /> : <Part value={value} depth={0} />}
      {!isLarge && (
        <Button variant="quiet" className="-ml-2.5" onClick={() => setJson(!isJson)}>
          {isJson ? 'Show as a list' : 'Show as JSON'}
        </Button>
      )}
    </div>
  )
}

function Part({ value, depth }: { value: unknown; depth: number }) {
  const [isWhole, setWhole] = useState(false)
  if (typeof value === 'string') return <Text text={value} />
  if (typeof value !== 'object' || value === null) {
    return <code className="font-mono text-sm text-accent">{JSON.stringify(value)}</code>
  }
  const entries = Object.entries(value)
  const isList = Array.isArray(value)
  if (entries.length === 0) return <span className="text-sm text-soft">{isList ? 'empty list' : 'empty'}</span>
  if (depth >= deepest) return <code className="font-mono text-xs break-all">{plain(pretty(value))}</code>
  const shown = isWhole ? entries : entries.slice(0, maxItems)
  return (
    <div>
      <dl className={depth === 0 ? '' : 'border-l-2 border-line pl-3'}>
        {shown.map(([key, inner]) => {
          const isBlock = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0
          return (
            <div key={key} className={`py-1 ${isBlock ? '' : 'sm:grid sm:grid-cols-[8rem_minmax(0,1fr)] sm:gap-x-4'}`}>
              <dt className="font-mono text-xs leading-[1.35rem] break-words text-soft">
                {isList ? `${Number(key) + 1}.` : plain(key)}
              </dt>
              <dd className="min-w-0">
                <Part value={inner} depth={depth + 1} />
              </dd>
            </div>
          )
        })}
      </dl>
      {shown.length < entries.length && (
        <Button variant="quiet" onClick={() => setWhole(true)}>
          Show all {count(entries.length)}
        </Button>
      )}
    </div>
  )
}

/** Whether a text could be mistaken for another type. Such text is quoted. */
const isAmbiguous = (text: string) => text.trim() !== text || /^(|true|false|null|-?\d.*)$/.test(text)

export function Text({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false)
  if (isWhole && text.length > longest * 4) return <TextView text={plain(text)} name="argument.txt" />
  const isCut = !isWhole && text.length > longest
  const shown = isCut ? text.slice(0, longest) : text
  return (
    <div className="text-base break-words whitespace-pre-wrap">
      {isAmbiguous(text) && !isCut ? `“${plain(shown)}”` : plain(shown)}
      {isCut && '…'}
      {hides(text) && (
        <span className="ml-2">
          <Badge tone="warn">Contains invisible characters</Badge>
        </span>
      )}
      {isCut && (
        <div>
          <Button variant="quiet" className="-ml-2.5" onClick={() => setWhole(true)}>
            Show all {count(text.length)} characters
          </Button>
        </div>
      )}
    </div>
  )
}
