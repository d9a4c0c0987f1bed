interface Props<Type extends string> {
  readonly types: readonly (readonly [type: Type, name: string, about: string])[]
  readonly value: Type
  /** Grid classes for wide screens. */
  readonly className: string
  onChange(type: Type): void
}

/** Selects a type, each with a description. */
export const TypeCards = <Type extends string>({ types, value, className, onChange }: Props<Type>) => (
  <fieldset>
    <legend className="sr-only">Type</legend>
    <div className={`grid gap-2 sm:grid-cols-2 ${className}`}>
      {types.map(([type, name, about]) => (
        <label
          key={type}
          className="cursor-pointer rounded-lg border border-line bg-panel p-3 has-checked:border-accent has-checked:bg-accent-wash has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name="type"
            value={type}
            checked={value === type}
            onChange={() => onChange(type)}
            className="sr-only"
          />
          <span className="text-sm font-semibold">{name}</span>
          <span className="block text-xs text-soft">{about}</span>
        </label>
      ))}
    </div>
  </fieldset>
)
