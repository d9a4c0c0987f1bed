import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/** Leads from a page to the guide about it. */
export const HelpLink = ({ guide, children }: { guide: string; children: ReactNode }) => (
  <Link to="/help/$guide" params={{ guide }} className="text-accent underline">
    {children}
  </Link>
)
