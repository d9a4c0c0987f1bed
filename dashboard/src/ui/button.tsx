import type { ComponentProps, ReactNode } from 'react'
import { useState } from 'react'
import { Icon, type IconName } from './icon.tsx'

type Variant = 'main' | 'plain' | 'quiet' | 'danger'

const variants: Record<Variant, string> = {
  main: 'bg-accent text-on-accent border-transparent hover:opacity-90',
  plain: 'bg-panel text-ink border-edge/60 hover:bg-hover',
  quiet: 'bg-transparent text-soft border-transparent hover:bg-hover hover:text-ink',
  danger: 'bg-panel text-bad border-bad/50 hover:bg-bad-wash',
}

export const buttonClass = (variant: Variant = 'plain') =>
  `inline-flex items-center justify-center gap-1.5 rounded-md border px-2.5 py-1.5 text-sm font-medium whitespace-nowrap disabled:opacity-50 ${variants[variant]}`

interface Props extends ComponentProps<'button'> {
  readonly variant?: Variant
  readonly icon?: IconName
  readonly busy?: boolean
}

export function Button({ variant = 'plain', icon, busy = false, children, className = '', disabled, ...rest }: Props) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={`${buttonClass(variant)} ${className}`}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A button with an icon only. Its label is for screen readers and the tooltip. */
export function IconButton({
  label,
  icon,
  className = '',
  ...rest
}: Omit<Props, 'variant'> & { label: string; icon: IconName }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={`inline-flex size-8 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink ${className}`}
    >
      <Icon name={icon} />
    </button>
  )
}

export function CopyButton({
  text,
  label = 'Copy',
  variant = 'plain',
}: {
  text: string
  label?: string
  variant?: Variant
}) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready')
  const copy = async () => {
    // The clipboard is available in secure contexts only.
    const copied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    setState(copied ? 'copied' : 'failed')
    setTimeout(() => setState('ready'), 2000)
  }
  return (
    <Button variant={variant} icon={state === 'copied' ? 'check' : 'copy'} onClick={copy}>
      <span aria-live="polite">{state === 'ready' ? label : state === 'copied' ? 'Copied' : 'Copy failed'}</span>
    </Button>
  )
}

export const Row = ({ children, className = '' }: { children: ReactNode; className?: string }) => (
  <div className={`flex flex-wrap items-center gap-2 ${className}`}>{children}</div>
)
