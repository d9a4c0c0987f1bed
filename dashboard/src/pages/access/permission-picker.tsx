import { useState } from 'react'
import { Badge } from '../../ui/badge.tsx'
import { IconButton } from '../../ui/button.tsx'

const moduleOf = (permission: string) => permission.split(':')[0] ?? ''

/** Selects the permissions of a statement. */
export function PermissionPicker({
  permissions,
  chosen,
  onChange,
}: {
  permissions: readonly string[]
  chosen: readonly string[]
  onChange: (chosen: readonly string[]) => void
}) {
  const [text, setText] = useState('')
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const fits = (name: string) => words.every((word) => name.toLowerCase().includes(word))
  const groups = [...Map.groupBy(permissions, moduleOf)]
    .map(([module, own]) => [module, [`${module}:*`, ...own].filter(fits)] as const)
    .filter(([, own]) => own.length > 0)
  const toggle = (name: string) =>
    onChange(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name])
  // A wildcard replaces the permissions it covers.
  const isCovered = (name: string) =>
    (name !== '*' && chosen.includes('*')) || (!name.endsWith(':*') && chosen.includes(`${moduleOf(name)}:*`))

  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm font-medium">Permissions</legend>
      {chosen.length === 0 && <p className="mb-2 text-sm text-soft">No permissions selected.</p>}
      <ul aria-label="Selected permissions" className="mb-2 flex flex-wrap gap-1.5 empty:hidden">
        {chosen.map((name) => (
          <li key={name} className="inline-flex items-center">
            <Badge tone={permissions.includes(name) || name.endsWith('*') ? 'accent' : 'bad'}>
              <code className="font-mono break-all">{name}</code>
            </Badge>
            <IconButton label={`Remove ${name}`} icon="close" className="size-6" onClick={() => toggle(name)} />
          </li>
        ))}
      </ul>
      <input
        type="search"
        aria-label="Search permissions"
        placeholder="Search permissions"
        className="control rounded-b-none text-sm"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
        tabIndex={0}
        className="max-h-64 overflow-y-auto rounded-b-md border border-t-0 border-edge/70 p-2"
      >
        {fits('*') && (
          <Choice name="*" hint="all permissions" isOn={chosen.includes('*')} isCovered={false} onChange={toggle} />
        )}
        {groups.map(([module, own]) => (
          <div key={module} className="mt-2">
            <div className="text-xs font-medium text-soft">{module}</div>
            <div className="grid sm:grid-cols-2">
              {own.map((name) => (
                <Choice
                  key={name}
                  name={name}
                  hint={name.endsWith(':*') ? `all ${module} permissions` : undefined}
                  isOn={chosen.includes(name)}
                  isCovered={isCovered(name)}
                  onChange={toggle}
                />
              ))}
            </div>
          </div>
        ))}
        {groups.length === 0 && !fits('*') && <p className="text-sm text-soft">No permissions found.</p>}
      </div>
    </fieldset>
  )
}

const Choice = ({
  name,
  hint,
  isOn,
  isCovered,
  onChange,
}: {
  name: string
  hint: string | undefined
  isOn: boolean
  isCovered: boolean
  onChange: (name: string) => void
}) => (
  <label className="flex items-center gap-2 py-0.5 text-sm">
    <input
      type="checkbox"
      className="accent-accent"
      checked={isOn || isCovered}
      disabled={isCovered && !isOn}
      onChange={() => onChange(name)}
    />
    <code className="font-mono text-xs break-all">{name}</code>
    {hint && <span className="text-xs text-soft">{hint}</span>}
  </label>
)
