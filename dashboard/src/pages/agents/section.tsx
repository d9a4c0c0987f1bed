import { Link } from '@tanstack/react-router'

const places = [
  ['/agents', 'Agents'],
  ['/sessions', 'Sessions'],
  ['/generations', 'Generations'],
  ['/ai-providers', 'AI providers'],
] as const

/** The tabs of the agents section. */
export const AgentsNav = () => (
  <nav aria-label="Agents" className="tab-list mb-4">
    {places.map(([to, label]) => (
      <Link key={to} to={to} className="tab data-[status=active]:border-accent data-[status=active]:text-ink">
        {label}
      </Link>
    ))}
  </nav>
)
