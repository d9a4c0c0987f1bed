import { Link } from '@tanstack/react-router'

const places = [
  ['/agents', 'Agents'],
  ['/generations', 'Generations'],
  ['/ai-providers', 'AI providers'],
] as const

/** The three lists that belong together: who works, what they did, and whom they ask. */
export const AgentsNav = () => (
  <nav aria-label="Agents" className="tab-list mb-4">
    {places.map(([to, label]) => (
      <Link key={to} to={to} className="tab data-[status=active]:border-accent data-[status=active]:text-ink">
        {label}
      </Link>
    ))}
  </nav>
)
