interface Option {
  readonly id: string
  readonly name: string
  readonly hint?: string | null
}

/** A choice of several options. A long list scrolls. */
export const Checks = ({
  label,
  options,
  chosen,
  onChange,
}: {
  label: string
  options: readonly Option[]
  chosen: readonly string[]
  onChange: (ids: readonly string[]) => void
}) => (
  <fieldset className="min-w-0">
    <legend className="mb-1 text-sm font-medium">{label}</legend>
    <ul className="max-h-72 space-y-1 overflow-y-auto text-sm">
      {options.map(({ id, name, hint }) => (
        <li key={id}>
          <label className="flex items-start gap-2">
            <input
              type="checkbox"
              className="mt-1 accent-accent"
              checked={chosen.includes(id)}
              onChange={(event) =>
                onChange(event.target.checked ? [...chosen, id] : chosen.filter((one) => one !== id))
              }
            />
            <span className="min-w-0 break-words">
              {name}
              {hint && <span className="block text-xs text-soft">{hint}</span>}
            </span>
          </label>
        </li>
      ))}
    </ul>
  </fieldset>
)
