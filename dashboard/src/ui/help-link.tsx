import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/** A link from a page to its guide. */
export const HelpLink = ({ guide, children }: { guide: string; children: ReactNode }) => (
  <Link to="/help/$guide" params={{ guide }} className="text-accent underline">
    {children}
  </Link>
)
