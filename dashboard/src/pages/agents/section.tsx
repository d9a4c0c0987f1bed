import { Link } from '@tanstack/react-router'

const places = [
  ['/agents', 'Agents'],
  ['/generations', 'Generations'],
  ['/ai-providers', 'AI providers'],
] as const

/** The three lists that belong together: who works, what they did, and whom they ask. */
export const AgentsNav = () => (
  <nav aria-label="Agents" className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
    {places.map(([to, label]) => (
      <Link
        key={to}
        to={to}
        className="-mb-px border-b-2 border-transparent px-3 py-2 text-sm font-medium whitespace-nowrap text-soft -outline-offset-2 hover:text-ink data-[status=active]:border-accent data-[status=active]:text-ink"
      >
        {label}
      </Link>
    ))}
  </nav>
)
