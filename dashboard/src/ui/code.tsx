import type { ReactNode } from 'react'

/** Monospaced text in a scrolling box. */
export const CodeBox = ({ children, wrap = false }: { children: ReactNode; wrap?: boolean }) => (
  <pre
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
    tabIndex={0}
    className={`max-h-96 overflow-auto rounded-md bg-sunken p-3 font-mono text-xs ${wrap ? 'break-words whitespace-pre-wrap' : ''}`}
  >
    {children}
  </pre>
)
