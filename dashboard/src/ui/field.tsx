import { Switch as RadixSwitch } from 'radix-ui'
import { type ComponentProps, type ReactNode, useId } from 'react'

interface Labelled {
  readonly label: ReactNode
  readonly hint?: ReactNode
  readonly error?: string | undefined
}

/** A label and its control, with an associated hint and error. */
export function Field({
  label,
  hint,
  error,
  children,
}: Labelled & {
  children: (props: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean }) => ReactNode
}) {
  const id = useId()
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="min-w-0">
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      {children({
        id,
        ...(describedBy && { 'aria-describedby': describedBy }),
        ...(error && { 'aria-invalid': true }),
      })}
      {hint && (
        <p id={`${id}-hint`} className="mt-1 text-xs text-soft">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="mt-1 text-xs text-bad">
          {error}
        </p>
      )}
    </div>
  )
}

export const TextField = ({
  label,
  hint,
  error,
  mono = false,
  className = '',
  ...rest
}: Labelled & { mono?: boolean } & ComponentProps<'input'>) => (
  <Field label={label} hint={hint} error={error}>
    {(props) => (
      <input
        type="text"
        autoComplete="off"
        spellCheck={false}
        {...rest}
        {...props}
        className={`control ${mono ? 'font-mono text-sm' : ''} ${className}`}
      />
    )}
  </Field>
)

export const TextArea = ({
  label,
  hint,
  error,
  mono = false,
  className = '',
  ...rest
}: Labelled & { mono?: boolean } & ComponentProps<'textarea'>) => (
  <Field label={label} hint={hint} error={error}>
    {(props) => (
      <textarea
        rows={4}
        spellCheck={!mono}
        {...rest}
        {...props}
        className={`control ${mono ? 'font-mono text-sm' : ''} ${className}`}
      />
    )}
  </Field>
)

export const Select = ({
  label,
  hint,
  error,
  options,
  ...rest
}: Labelled & { options: readonly (readonly [value: string, label: string])[] } & ComponentProps<'select'>) => (
  <Field label={label} hint={hint} error={error}>
    {(props) => (
      <select {...rest} {...props} className="control">
        {options.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    )}
  </Field>
)

/** A switch that applies immediately. */
export function Switch({
  label,
  hint,
  checked,
  onChange,
  disabled,
}: {
  label: ReactNode
  hint?: ReactNode
  checked: boolean
  onChange: (checked: boolean) => void
  disabled?: boolean
}) {
  const id = useId()
  return (
    <div className="flex items-start gap-3">
      <RadixSwitch.Root
        id={id}
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        className="mt-0.5 h-5 w-9 shrink-0 rounded-full border border-edge bg-sunken p-0.5 data-[state=checked]:border-accent data-[state=checked]:bg-accent"
      >
        <RadixSwitch.Thumb className="block size-3.5 rounded-full bg-edge data-[state=checked]:translate-x-4 data-[state=checked]:bg-on-accent" />
      </RadixSwitch.Root>
      <div className="min-w-0">
        <label htmlFor={id} className="text-sm font-medium">
          {label}
        </label>
        {hint && (
          <p id={`${id}-hint`} className="text-xs text-soft">
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}
