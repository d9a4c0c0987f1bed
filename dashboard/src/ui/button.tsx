import type { ComponentProps, ReactNode } from 'react'
import { useState } from 'react'
import { Icon, type IconName } from './icon.tsx'

type Look = 'main' | 'plain' | 'quiet' | 'danger'

const looks: Record<Look, string> = {
  main: 'bg-accent text-on-accent border-transparent hover:opacity-90',
  plain: 'bg-panel text-ink border-edge/60 hover:bg-hover',
  quiet: 'bg-transparent text-soft border-transparent hover:bg-hover hover:text-ink',
  danger: 'bg-panel text-bad border-bad/50 hover:bg-bad-wash',
}

export const buttonLook = (look: Look = 'plain') =>
  `inline-flex items-center justify-center gap-1.5 rounded-md border px-2.5 py-1.5 text-sm font-medium whitespace-nowrap disabled:opacity-50 ${looks[look]}`

interface Props extends ComponentProps<'button'> {
  readonly look?: Look
  readonly icon?: IconName
  readonly busy?: boolean
}

export function Button({ look = 'plain', icon, busy = false, children, className = '', disabled, ...rest }: Props) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={`${buttonLook(look)} ${className}`}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A button that is an icon alone; its label is for those who do not see it, and for whoever rests on it. */
export function IconButton({
  label,
  icon,
  className = '',
  ...rest
}: Omit<Props, 'look'> & { label: string; icon: IconName }) {
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

export function CopyButton({ text, label = 'Copy', look = 'plain' }: { text: string; label?: string; look?: Look }) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready')
  const copy = async () => {
    // A page that was not fetched over a safe way has no clipboard.
    const copied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    setState(copied ? 'copied' : 'failed')
    setTimeout(() => setState('ready'), 2000)
  }
  return (
    <Button look={look} icon={state === 'copied' ? 'check' : 'copy'} onClick={copy}>
      <span aria-live="polite">
        {state === 'ready' ? label : state === 'copied' ? 'Copied' : 'Select it and copy by hand'}
      </span>
    </Button>
  )
}

export const Row = ({ children, className = '' }: { children: ReactNode; className?: string }) => (
  <div className={`flex flex-wrap items-center gap-2 ${className}`}>{children}</div>
)
