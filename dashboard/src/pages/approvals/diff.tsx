import { pretty } from '../../ui/pretty.ts'
import { type Change, whereTheyDiffer } from './changes.ts'
import { plain } from './escape-invisible.ts'

const asText = (value: unknown) => (typeof value === 'string' ? value : pretty(value))

/** The changes between two values, path by path. */
export const Diff = ({ changes, label }: { changes: readonly Change[]; label: string }) => (
  <ul aria-label={label} className="space-y-2">
    {changes.map(({ path, before, after }) => {
      const [was, is] =
        before === undefined || after === undefined
          ? [asText(before), asText(after)]
          : whereTheyDiffer(asText(before), asText(after))
      return (
        <li key={path} className="min-w-0">
          <code className="font-mono text-xs break-words text-soft">{path === '' ? 'whole value' : plain(path)}</code>
          {before !== undefined && <Line sign="−" word="was" text={was} className="bg-bad-wash text-bad" />}
          {after !== undefined ? (
            <Line sign="+" word="is now" text={is} className="bg-good-wash text-good" />
          ) : (
            <p className="text-xs text-soft">removed</p>
          )}
        </li>
      )
    })}
  </ul>
)

const Line = ({ sign, word, text, className }: { sign: string; word: string; text: string; className: string }) => (
  <div className={`mt-0.5 flex gap-2 rounded-sm px-2 py-1 font-mono text-xs ${className}`}>
    <span aria-hidden="true">{sign}</span>
    <span className="sr-only">{word} </span>
    <span className="max-h-60 min-w-0 overflow-y-auto break-words whitespace-pre-wrap">
      {text.length > 4000 ? `${plain(text.slice(0, 4000))}…` : plain(text)}
    </span>
  </div>
)
