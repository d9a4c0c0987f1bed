import type { ReactNode } from 'react'

export const Panel = ({
  title,
  aside,
  children,
  flush = false,
}: {
  title?: ReactNode
  aside?: ReactNode
  children: ReactNode
  /** Without padding, for example for a table. */
  flush?: boolean
}) => (
  <section className="min-w-0 rounded-lg border border-line bg-panel">
    {(title || aside) && (
      <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-2.5">
        {title && <h2>{title}</h2>}
        {aside}
      </div>
    )}
    <div className={flush ? '' : 'p-4'}>{children}</div>
  </section>
)

/** The header of a page, with its main actions. */
export const PageHead = ({
  title,
  children,
  actions,
}: {
  title: ReactNode
  children?: ReactNode
  actions?: ReactNode
}) => (
  <header className="mb-4 flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
    <div className="min-w-0">
      <h1 className="break-words">{title}</h1>
      {children && <div className="mt-0.5 max-w-3xl text-sm break-words text-soft">{children}</div>}
    </div>
    {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
  </header>
)

/** A list of names and values. */
export const Facts = ({ facts }: { facts: readonly (readonly [string, ReactNode])[] }) => (
  <dl className="grid grid-cols-[minmax(7rem,auto)_1fr] gap-x-4 gap-y-1.5 text-sm">
    {facts.map(([name, value]) => (
      <div key={name} className="contents">
        <dt className="text-soft">{name}</dt>
        <dd className="min-w-0 break-words">{value}</dd>
      </div>
    ))}
  </dl>
)
