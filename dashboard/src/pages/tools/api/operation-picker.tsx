import { useState } from 'react'
import type { ApiOperation } from '../../../api.ts'
import { bytes, count, plural } from '../../../format.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { byTag } from './choice.ts'

const maxShown = 200

/** The operations of a document, to choose from by name, path or tag. */
export function OperationPicker({
  operations,
  chosen,
  onChange,
}: {
  operations: readonly ApiOperation[]
  chosen: ReadonlySet<string>
  onChange: (chosen: ReadonlySet<string>) => void
}) {
  const [text, setText] = useState('')
  const [tag, setTag] = useState<string>()
  const groups = byTag(operations)
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = (tag === undefined ? operations : (groups.get(tag) ?? [])).filter(({ name, method, path, title }) =>
    words.every((word) => `${name} ${method} ${path} ${title ?? ''}`.toLowerCase().includes(word)),
  )
  const set = (those: readonly ApiOperation[], isOn: boolean) => {
    const next = new Set(chosen)
    for (const { name } of those) {
      if (isOn) next.add(name)
      else next.delete(name)
    }
    onChange(next)
  }
  const size = operations.reduce((sum, one) => sum + (chosen.has(one.name) ? one.size : 0), 0)
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap gap-2">
        <input
          type="search"
          aria-label="Search operations"
          placeholder="Name, method or path"
          className="control min-w-48 flex-1"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        {groups.size > 1 && (
          <select
            aria-label="Tag"
            className="control w-auto max-w-full shrink-0 text-sm"
            value={tag ?? '*'}
            onChange={({ target }) => setTag(target.value === '*' ? undefined : target.value)}
          >
            <option value="*">Any tag</option>
            {[...groups].map(([name, those]) => (
              <option key={name} value={name}>
                {name || 'No tag'} ({those.length})
              </option>
            ))}
          </select>
        )}
        <Button onClick={() => set(found, true)}>Select {count(found.length)}</Button>
        <Button onClick={() => set(found, false)}>Clear {count(found.length)}</Button>
      </div>
      <p className="text-sm text-soft" role="status">
        {count(chosen.size)} of {plural(operations.length, 'operation')} selected. Their schemas have {bytes(size)},
        about {count(Math.round(size / 4))} tokens in direct mode.
      </p>
      <ul className="max-h-96 divide-y divide-line overflow-y-auto rounded-md border border-line">
        {found.slice(0, maxShown).map((one) => (
          <Choice key={one.name} operation={one} isOn={chosen.has(one.name)} onChange={(isOn) => set([one], isOn)} />
        ))}
        {found.length === 0 && <li className="px-3 py-4 text-center text-sm text-soft">No operations found.</li>}
      </ul>
      {found.length > maxShown && (
        <p className="text-xs text-soft">
          {plural(found.length - maxShown, 'more operation')}. Search to narrow the list.
        </p>
      )}
    </div>
  )
}

const Choice = ({
  operation: { name, method, path, title, deprecated, size, whole_size },
  isOn,
  onChange,
}: {
  operation: ApiOperation
  isOn: boolean
  onChange: (isOn: boolean) => void
}) => (
  <li>
    <label className="flex cursor-pointer items-start gap-2.5 px-3 py-2 text-sm hover:bg-hover">
      <input
        type="checkbox"
        aria-label={name}
        className="mt-1 accent-accent"
        checked={isOn}
        onChange={({ target }) => onChange(target.checked)}
      />
      <span className="min-w-0 flex-1">
        <span className="flex flex-wrap items-center gap-1.5">
          <span className="font-medium break-all">{name}</span>
          {deprecated && <Badge tone="warn">deprecated</Badge>}
          {whole_size > size && <Badge>reduced from {bytes(whole_size)}</Badge>}
        </span>
        <span className="line-clamp-2 text-xs break-words text-soft">
          <code className="font-mono break-all">
            {method} {path}
          </code>{' '}
          {title}
        </span>
      </span>
      <span className="shrink-0 text-xs text-soft">{bytes(size)}</span>
    </label>
  </li>
)
