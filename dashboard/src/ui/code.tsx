import type { ReactNode } from 'react'

/** Text that is read letter by letter, in a box that scrolls where it is too large. */
export const CodeBox = ({ children, wrap = false }: { children: ReactNode; wrap?: boolean }) => (
  <pre
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys, too
    tabIndex={0}
    className={`max-h-96 overflow-auto rounded-md bg-sunken p-3 font-mono text-xs ${wrap ? 'break-words whitespace-pre-wrap' : ''}`}
  >
    {children}
  </pre>
)
