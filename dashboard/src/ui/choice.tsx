/** A filter with one value, or any. */
export function Choice({
  label,
  value,
  options,
  onChange,
  className = '',
}: {
  label: string
  value: string | undefined
  options: readonly (readonly [string, string])[]
  onChange: (value: string | undefined) => void
  className?: string
}) {
  // The URL may name a value that is not in the list, such as a deleted tool.
  const isOther = value !== undefined && !options.some(([known]) => known === value)
  return (
    <select
      aria-label={label}
      className={`control text-sm ${className} ${value ? 'border-accent text-accent' : ''}`}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value || undefined)}
    >
      <option value="">{label}: any</option>
      {isOther && <option value={value}>{value}</option>}
      {options.map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}
